// The driver of cost rules: documents of a bucket by cost, cheapest first, each cost handed to the
// next rule before the next is asked for. Where costs come from: cost_plan.cc.
#include <algorithm>
#include <utility>

#include "search/ranking/cost_rule.h"
#include "search/ranking/rank.h"
#include "search/ranking/two_phase.h"

namespace gannet::search {

bool Ranker::RanksOneByOne(size_t rule, const Detail* detail) const {
  if (options_.threshold && ScoreAtLeast(detail) < *options_.threshold) return false;
  for (; rule < rules_.size(); ++rule) {
    switch (rules_[rule].kind) {
      case RuleKind::kExactAttribute: break;
      case RuleKind::kCost:
        if (!rules_[rule].cost->RanksOneByOne(rule + 1 == rules_.size())) return false;
        break;
      case RuleKind::kSort:
        // Which places are as good as equally far depends on the nearest of them.
        if (rules_[rule].sort->kind == SortCriterion::Kind::kGeo) return false;
        break;
      default: return false;
    }
  }
  return true;
}

void Ranker::SplitByCost(Bucket bucket, size_t rule, const Detail* detail) {
  const CostRule& cost_rule = *rules_[rule].cost;
  uint32_t max = 0;
  for (const Path& path : bucket.paths) max = std::max(max, cost_rule.PathMax(*context_, path));
  bool dropping = false;
  const bool one_path = bucket.paths.size() == 1;
  if (one_path) {
    if (const auto cost = cost_rule.ConstantCost(*context_, bucket.paths[0])) {
      return Descend(std::move(bucket), rule + 1, AddCost(rule, *cost, max, detail), dropping);
    }
  }
  if (pairs_ && rules_[rule].Is(ProximityRule()))
    return SplitByAttribute(bucket, rule, detail, max);
  TwoPhase* const two_phase = bucket.two_phase;
  const Sources sources = SourcesOf(std::move(bucket), rule, max);
  const bool one_by_one = RanksOneByOne(rule + 1, detail);
  for (uint32_t cost = 0; cost <= max && !Full(detail); ++cost) {
    CostBucket cost_bucket;
    for (const auto& source : sources) {
      CostBucket own = source->At(cost);
      if (!one_path && rule + 1 < rules_.size()) KeepIfTaken(source, cost, two_phase, own);
      if (!own.empty()) cost_bucket.Add(std::move(own));
    }
    if (cost_bucket.empty()) continue;
    Bucket next{{}, cost_bucket.TakePaths(), two_phase};
    if (cost_bucket.approximate.empty()) {
      next.documents = std::move(cost_bucket.verified);
      Descend(std::move(next), rule + 1, AddCost(rule, cost, max, detail), dropping);
      continue;
    }
    TwoPhaseCosts of_cost(sources, cost, std::move(cost_bucket.verified),
                          std::move(cost_bucket.approximate));
    if (!one_by_one) {
      of_cost.VerifyAll();
    } else if (options_.end > seen_) {
      of_cost.VerifyIfScarce(options_.end - seen_);
    }
    next.documents = of_cost.verified() | of_cost.approximate();
    if (next.documents.empty()) continue;
    if (!of_cost.approximate().empty()) next.two_phase = &of_cost;
    Descend(std::move(next), rule + 1, AddCost(rule, cost, max, detail), dropping);
  }
}

void Ranker::KeepIfTaken(const std::unique_ptr<CostSource>& source, uint32_t cost,
                         TwoPhase* two_phase, CostBucket& cost_bucket) {
  if (two_phase != nullptr) two_phase->DropUnverified(cost_bucket.verified);
  if (cost_bucket.approximate.empty() || !cost_bucket.verified.empty()) return;
  DocSet documents = cost_bucket.approximate;
  TwoPhaseCosts of_bucket({&source, 1}, cost, {}, std::move(cost_bucket.approximate));
  of_bucket.DropUnverified(documents);
  cost_bucket.verified = of_bucket.verified();
  cost_bucket.approximate = of_bucket.approximate();
}

}  // namespace gannet::search
