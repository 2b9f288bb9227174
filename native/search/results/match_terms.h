// The words and phrases of a query that are marked in the text of its hits.
#pragma once

#include "search/query/graph.h"
#include "search/query/query.h"
#include "search/results/highlighter.h"

namespace gannet::search {

// Looks up the expansions of the graph that were not looked up before.
// REQUIRES: the graph is that of the query.
MatchTerms MatchTermsOf(const ParsedQuery& query, Graph& graph);

}  // namespace gannet::search
