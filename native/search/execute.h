// One search from its request to the body of its answer. Start reading here: execute.cc names the
// steps in order, each in a file of its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "index/index.h"
#include "search/caller.h"
#include "search/request.h"
#include "search/search_run.h"

namespace gannet::search {

// from_start: keep the hits before the page too, with details (for merging lists).
// Invalid, with the code as detail: a parameter does not go with the settings.
Result<std::unique_ptr<SearchRun>> RunSearch(std::shared_ptr<const index::Snapshot> snapshot,
                                             SearchRequest request, bool from_start = false);

// The body of a search. Empty: a vector is needed (SearchRun::needs_vector).
// request  JSON of EngineSearchRequest (src/search/plan.ts)
// Invalid, with the code as detail: as RunSearch; bad_request: it would be larger than
// `answerBytesMax` of the request.
Result<std::string> ExecuteSearch(index::Index& index, std::string_view request,
                                  const Caller& caller);
// The same of a search among the values of a facet: EngineFacetSearchRequest.
Result<std::string> ExecuteFacetSearch(index::Index& index, std::string_view request,
                                       const Caller& caller);

}  // namespace gannet::search
