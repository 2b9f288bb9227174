// A bucket with one path of plain words: the costs of its documents come from one pass over their records (sweep.h),
// which serves the following rules as well.
#include "search/rank.h"

#include "search/sweep.h"

namespace gannet::search {

bool Ranker::SplitBySweep(const Bucket& bucket, size_t rule, const Detail* detail, uint32_t max, bool dropping) {
  const Path& path = bucket.paths[0];
  if (!sweep_ || sweep_->path() != path || !bucket.documents.IsSubsetOf(swept_)) {
    if (!PathSweep::Supports(*graph_, path)) return false;
    sweep_.emplace(*graph_, path, max_weight_);
    sweep_->Run(bucket.documents);
    swept_ = bucket.documents;
  }
  const RuleKind kind = rules_[rule].kind;
  const auto cost_of_rule = kind == RuleKind::kProximity       ? &PathCosts::proximity
                            : kind == RuleKind::kAttributeRank ? &PathCosts::attribute
                                                               : &PathCosts::position;
  const auto parts = sweep_->ByCost(cost_of_rule, max, bucket.documents);
  for (uint32_t cost = 0; cost <= max && !Full(); ++cost) {
    if (parts[cost].empty()) continue;
    Descend(Bucket{DocSet::FromSorted(parts[cost]), bucket.paths}, rule + 1, AddCost(rule, cost, max, detail), dropping);
  }
  return true;
}

}  // namespace gannet::search
