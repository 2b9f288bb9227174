// The cost of the distance between two words (docs/behaviour/ranking.md, proximity).
#pragma once

#include <cstdint>

#include "search/matching/word_masks.h"
#include "search/ranking/cost_rule.h"

namespace gannet::search {

// The greatest cost of proximity between two words; longer distances cost the same.
inline constexpr uint32_t kFarCost = WordMasks::kDistanceMax;

// The cost of the path that no distance changes: glued words count as that many less one.
uint32_t ConstantPart(const RankContext& context, const Path& path);

}  // namespace gannet::search
