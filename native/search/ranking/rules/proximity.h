// The cost of the distance between two words (docs/behaviour/ranking.md, proximity).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "search/matching/word_masks.h"
#include "search/ranking/cost_rule.h"

namespace gannet::search {

// The highest cost of proximity between two words; longer distances cost the same.
inline constexpr uint32_t kFarCost = WordMasks::kDistanceMax;

// The part of the cost of a path that does not depend on distances: n concatenated words cost n -
// 1.
uint32_t ConstantPart(const RankContext& context, const Path& path);

class Proximity : public CostRule {
 public:
  Proximity();

  uint32_t StepMax(const RankContext& context, const Path& path, size_t i) const override;
  std::optional<uint32_t> ConstantCost(const RankContext& context, const Path& path) const override;
  uint32_t StepCost(const RankContext& context, ScannedDocument& document,
                    const ScannedStep* previous, const ScannedStep& step) const override;
  bool AsksPrevious() const override { return true; }

  uint64_t PostingsMin() const override;
  void AddPostingSources(const RankContext& context, OnePath group, uint32_t max,
                         TwoPhase* two_phase, Sources& sources) const override;

  void AppendScoreDetails(DetailWriter& out, const Detail& detail,
                          const Detail* next) const override;
};

// The rule if proximityPrecision is byAttribute (proximity_by_attribute.cc).
std::unique_ptr<RankingRule> MakeProximityByAttribute();

}  // namespace gannet::search
