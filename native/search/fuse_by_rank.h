// Reciprocal rank fusion of the two halves of a hybrid search (docs/behaviour/vectors.md, fusion).
//
// A hit at rank r of a list counts weight / (kRankConstant + r). Only the first kFusedHits of a
// list add up; a hit that is in neither of them counts with its better list. So the first hits of
// the fused list depend on as many hits of both lists only, and all pages show parts of one list.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "search/merged_hits.h"
#include "search/ranking/ranking_rule.h"
#include "search/results/distinct.h"

namespace gannet::search {

constexpr double kRankConstant = 60;
constexpr uint64_t kFusedHits = 200;

// The number of hits of each list that the first `end` fused hits depend on.
uint64_t FusedDepth(uint64_t end);

// What fusion says of a hit: `similarity` is the fused score, 1 for the first hit of both lists.
// The rule shows what the rules of both lists said.
struct FusedDetail : Detail {
  // Ranks from 1; 0: not in the list, or without an embedding.
  uint64_t words_rank = 0, semantic_rank = 0;
  const Detail* words = nullptr;     // null: not in the list, or no rule ran
  const Detail* semantic = nullptr;  // null: not in the list
};

// Whether the hit is fused.
bool IsFused(const Hit& hit);

// `by_vector`: whether the rank by vectors counts at least as much.
struct FusedHits : MergedHits {
  std::deque<FusedDetail> details;  // the hits point into it
};

// The parameters are those of MergeHits. Sort rules that precede relevancy precede fusion.
// Lifetime: the result borrows both lists.
FusedHits FuseByRank(const std::vector<Hit>& words, const std::vector<Hit>& semantic, double ratio,
                     MergeEnd end, const Distinct* distinct);

}  // namespace gannet::search
