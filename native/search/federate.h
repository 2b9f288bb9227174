// Several searches merged into one list (docs/behaviour/results.md).
//
// Reads like this: 1. the ranking rules of the queries must allow their hits to be compared; 2.
// each query runs, from its best hit to as many as the merged page may need; 3. the lists are
// merged, within an index first, where a document found twice counts once; 4. totals and facets
// come from the union of the candidates of an index.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "index/index.h"
#include "search/answer.h"
#include "search/caller.h"

namespace gannet::search {

// request  JSON of EngineFederatedRequest (src/search/plan.ts)
// indexes  the one of each query, then those that `otherIndexes` of the request names: their facet
//          lists are checked, nothing is searched in them
// Errors of a query carry its position in front of the message,
// errors of a facet list its index.
// Threads: starts some of its own when there are several queries; all end before it returns.
Result<Answer> ExecuteFederatedSearch(std::span<index::Index* const> indexes,
                                      std::string_view request, const Caller& caller);

}  // namespace gannet::search
