// The body of the response to a search of one index with `groupBy` (docs/behaviour/groups.md).
#pragma once

#include "base/json_value.h"
#include "base/status.h"
#include "search/caller.h"
#include "search/response.h"
#include "search/search_run.h"

namespace gannet::search {

// The body of the response to a search with `groupBy`.
// run      one hit per value: the best one of each group of the page
// request  JSON that the search was read from
// Threads: idle threads help to rank the groups.
// Corruption: a stored document is damaged. Invalid: as CheckResponseSize.
Result<SearchResponse> WriteGroupsResponse(SearchRun run, const json::Value& request,
                                           const Caller& caller);

}  // namespace gannet::search
