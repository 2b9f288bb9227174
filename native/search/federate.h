// Several searches merged into one list (docs/behaviour/results.md).
//
// The steps are:
//   1. Check that the ranking rules of the queries allow their hits to be compared.
//   2. Run each query for as many of its best hits as the merged page may need.
//   3. Merge the lists, first within each index, where a document found twice counts once.
//   4. Compute totals and facets from the union of the candidates of each index.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "index/index.h"
#include "search/response.h"
#include "search/caller.h"

namespace gannet::search {

// request  JSON of EngineFederatedRequest (src/search/plan.ts)
// indexes  the index of each query, then those that `otherIndexes` of the request names: only
//          their facet lists are checked, they are not searched
// An error of a query has the position of the query in front of the message, an error of a facet
// list has the index.
// Threads: starts threads of its own if there are several queries; all of them end before it
// returns.
Result<SearchResponse> ExecuteFederatedSearch(std::span<index::Index* const> indexes,
                                              std::string_view request, const Caller& caller);

}  // namespace gannet::search
