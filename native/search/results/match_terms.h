// The words and phrases of a query that are highlighted in the text of its hits.
#pragma once

#include "search/query/query_evaluator.h"
#include "search/results/highlighter.h"

namespace gannet::search {

// Looks up the expansions of the query that were not looked up before.
MatchTerms MatchTermsOf(QueryEvaluator& query);

}  // namespace gannet::search
