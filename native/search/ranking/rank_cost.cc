// The rules proximity, attributeRank, wordPosition and exactness of words: a document costs the sum of its steps along
// the cheapest path. What tells the costs of which documents: rank_sources.cc.
#include <algorithm>
#include <utility>

#include "search/ranking/rank.h"
#include "search/ranking/two_phase.h"

namespace gannet::search {

uint32_t Ranker::StepMax(RuleKind kind, const Step* previous, const Step& step) {
  const Node& node = NodeOf(step);
  switch (kind) {
    case RuleKind::kProximity: {
      const bool adjacent = previous != nullptr && NodeOf(*previous).term.last + 1 == node.term.first;
      return node.slots() - 1 + (adjacent ? kFarCost : 0);
    }
    case RuleKind::kAttributeRank: return max_weight_ * node.slots();
    case RuleKind::kWordPosition: return 10 * node.slots();
    case RuleKind::kExactWords: return node.slots();
    default: return 0;
  }
}

uint32_t Ranker::PathMax(RuleKind kind, const Path& path) {
  uint32_t sum = 0;
  for (size_t i = 0; i < path.size(); ++i) sum += StepMax(kind, i == 0 ? nullptr : &path[i - 1], path[i]);
  return sum;
}

bool Ranker::RanksOneByOne(size_t rule, const Detail* detail) const {
  if (options_.threshold && ScoreAtLeast(detail) < *options_.threshold) return false;
  for (; rule < rules_.size(); ++rule) {
    switch (rules_[rule].kind) {
      case RuleKind::kAttributeRank:
      case RuleKind::kWordPosition:
      case RuleKind::kExactAttribute: break;
      case RuleKind::kSort:
        // Which places are as good as equally far depends on the nearest of them.
        if (rules_[rule].sort->kind == SortCriterion::Kind::kGeo) return false;
        break;
      case RuleKind::kExactWords:
        // The paths of its parts come in an order that depends on all documents.
        if (rule + 1 < rules_.size()) return false;
        break;
      default: return false;
    }
  }
  return true;
}

void Ranker::SplitByCost(Bucket bucket, size_t rule, const Detail* detail) {
  const RuleKind kind = rules_[rule].kind;
  uint32_t max = 0;
  for (const Path& path : bucket.paths) max = std::max(max, PathMax(kind, path));
  bool dropping = false;
  const bool one_path = bucket.paths.size() == 1;
  if (one_path) {
    if (const auto cost = ConstantCost(kind, bucket.paths[0])) {
      return Descend(std::move(bucket), rule + 1, AddCost(rule, *cost, max, detail), dropping);
    }
  }
  if (kind == RuleKind::kProximity && pairs_) return SplitByAttribute(bucket, rule, detail, max);
  const Sources sources = SourcesOf(std::move(bucket), kind, max);
  const bool one_by_one = RanksOneByOne(rule + 1, detail);
  for (uint32_t cost = 0; cost <= max && !Full(detail); ++cost) {
    CostBucket cost_bucket;
    for (const auto& source : sources) {
      CostBucket own = source->At(cost);
      if (!one_path && rule + 1 < rules_.size()) KeepIfTaken(source, cost, own);
      if (!own.empty()) cost_bucket.Add(std::move(own));
    }
    if (cost_bucket.empty()) continue;
    Bucket next{{}, cost_bucket.TakePaths()};
    if (cost_bucket.approximate.empty()) {
      next.documents = std::move(cost_bucket.verified);
      Descend(std::move(next), rule + 1, AddCost(rule, cost, max, detail), dropping);
      continue;
    }
    TwoPhaseCosts of_cost(sources, cost, std::move(cost_bucket.verified), std::move(cost_bucket.approximate));
    if (!one_by_one) {
      of_cost.VerifyAll();
    } else if (options_.end > seen_) {
      of_cost.VerifyIfScarce(options_.end - seen_);
    }
    next.documents = of_cost.verified() | of_cost.approximate();
    if (next.documents.empty()) continue;
    if (!of_cost.approximate().empty()) two_phase_ = &of_cost;
    Descend(std::move(next), rule + 1, AddCost(rule, cost, max, detail), dropping);
    two_phase_ = nullptr;
  }
}

void Ranker::KeepIfTaken(const std::unique_ptr<CostSource>& source, uint32_t cost, CostBucket& cost_bucket) {
  if (two_phase_ != nullptr) two_phase_->DropUnverified(cost_bucket.verified);
  if (cost_bucket.approximate.empty() || !cost_bucket.verified.empty()) return;
  DocSet documents = cost_bucket.approximate;
  TwoPhaseCosts of_bucket({&source, 1}, cost, {}, std::move(cost_bucket.approximate));
  of_bucket.DropUnverified(documents);
  cost_bucket.verified = of_bucket.verified();
  cost_bucket.approximate = of_bucket.approximate();
}

std::optional<uint32_t> Ranker::ConstantCost(RuleKind kind, const Path& path) {
  if (kind == RuleKind::kAttributeRank && max_weight_ == 0) return 0;
  if (kind != RuleKind::kProximity) return std::nullopt;
  uint32_t cost = 0;
  for (size_t i = 0; i < path.size(); ++i) {
    if (i > 0 && NodeOf(path[i - 1]).term.last + 1 == NodeOf(path[i]).term.first) return std::nullopt;
    cost += NodeOf(path[i]).slots() - 1;
  }
  return cost;
}

}  // namespace gannet::search
