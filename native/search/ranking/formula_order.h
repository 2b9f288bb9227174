// Orders the documents of a bucket by the values of a formula (docs/behaviour/formulas.md).
#pragma once

#include "search/ranking/bucket.h"
#include "search/ranking/rank.h"
#include "search/ranking/rules.h"

namespace gannet::search {

// Passes the documents to `out` by value, one bucket for each; those without a value last.
// criterion  of SortCriterion::Kind::kFormula
// inputs     of the search: scores that the formula uses come from its relevancy rules
void SplitByFormula(const SortCriterion& criterion, const RuleInputs& inputs, Bucket bucket,
                    BucketSplit& out);

}  // namespace gannet::search
