// Whether the hits of several queries can be compared (docs/behaviour/scores.md).
#pragma once

#include "base/status.h"
#include "search/federation/federation.h"

namespace gannet::search {

// Compares each query with the longest list of rules before it; they need only agree as far as the
// shorter one goes.
// Invalid: invalid_multi_search_query_ranking_rules.
Status CheckRules(const Federation& federation);

}  // namespace gannet::search
