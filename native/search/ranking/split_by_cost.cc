// Runs cost rules: splits a bucket by cost, cheapest first, and passes each cost to the next rule
// before requesting the next one. cost_plan.h chooses the sources of the costs.
#include <algorithm>
#include <utility>

#include "search/ranking/cost_rule.h"
#include "search/ranking/rank.h"
#include "search/ranking/two_phase.h"

namespace gannet::search {

namespace {

// Verifies documents of a cost bucket until one is known to take its path, if the bucket has
// several paths: a path counts for later rules only if some document takes it. Removes all
// documents if none does.
// two_phase    that of the bucket that is split
void KeepIfTaken(const std::unique_ptr<CostSource>& source, uint32_t cost, TwoPhase* two_phase,
                 CostBucket& cost_bucket) {
  if (two_phase != nullptr) two_phase->DropUnverified(cost_bucket.verified);
  if (cost_bucket.approximate.empty() || !cost_bucket.verified.empty()) return;
  DocSet documents = cost_bucket.approximate;
  TwoPhaseCosts of_bucket({&source, 1}, cost, {}, std::move(cost_bucket.approximate));
  of_bucket.DropUnverified(documents);
  cost_bucket.verified = of_bucket.verified();
  cost_bucket.approximate = of_bucket.approximate();
}

}  // namespace

void CostRule::Split(Bucket bucket, BucketSplit& out) {
  Ranker& ranker = out.ranker;
  CostPlan& costs = ranker.costs();
  const RankContext& context = costs.context();
  uint32_t max = 0;
  for (const Path& path : bucket.paths) max = std::max(max, PathMax(context, path));
  const bool one_path = bucket.paths.size() == 1;
  if (one_path) {
    if (const auto cost = ConstantCost(context, bucket.paths[0]))
      return out.GiveCost(std::move(bucket), *cost, max);
  }
  TwoPhase* const two_phase = bucket.two_phase;
  const Sources sources = costs.SourcesOf(std::move(bucket), out.rule, max);
  const bool one_by_one = ranker.RanksOneByOne(out.rule + 1, out.said);
  for (uint32_t cost = 0; cost <= max && !out.Full(); ++cost) {
    CostBucket cost_bucket;
    for (const auto& source : sources) {
      CostBucket own = source->At(cost);
      if (!one_path && out.rule + 1 < ranker.rules().size())
        KeepIfTaken(source, cost, two_phase, own);
      if (!own.empty()) cost_bucket.Add(std::move(own));
    }
    if (cost_bucket.empty()) continue;
    Bucket next{{}, cost_bucket.TakePaths(), two_phase};
    if (cost_bucket.approximate.empty()) {
      next.documents = std::move(cost_bucket.verified);
      out.GiveCost(std::move(next), cost, max);
      continue;
    }
    TwoPhaseCosts of_cost(sources, cost, std::move(cost_bucket.verified),
                          std::move(cost_bucket.approximate));
    if (!one_by_one) {
      of_cost.VerifyAll();
    } else if (ranker.wanted() > 0) {
      of_cost.VerifyIfScarce(ranker.wanted());
    }
    next.documents = of_cost.verified() | of_cost.approximate();
    if (next.documents.empty()) continue;
    if (!of_cost.approximate().empty()) next.two_phase = &of_cost;
    out.GiveCost(std::move(next), cost, max);
  }
}

}  // namespace gannet::search
