// Whether the hits of several queries can be compared (docs/behaviour/scores.md).
#pragma once

#include "base/status.h"
#include "search/federation/federation.h"

namespace gannet::search {

// Compares the rules of each query with the longest list of rules before it. They only have to
// agree up to the length of the shorter list.
// Invalid: invalid_multi_search_query_ranking_rules.
Status CheckRules(const Federation& federation);

}  // namespace gannet::search
