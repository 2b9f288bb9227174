// Forward scan: the costs of one path for many documents, in one pass over their forward records.
//
// Most documents match one path, and hold the same of the phrases that stand for its words, mostly
// none. Then proximity, attributeRank and wordPosition need three small numbers per document, and no
// token positions are kept. Other documents go through candidates.h, which gives the same costs
// (rank_positions.cc).
//
// Threads: one owner; idle threads help with many documents. Lifetime: dies before the graph.
// Cost: 40 to 60 ns per document; 12 bytes of memory each.
#pragma once

#include <cstdint>
#include <vector>

#include "bitmap/docset.h"
#include "search/matching/word_masks.h"
#include "search/query/graph.h"
#include "search/ranking/paths.h"

namespace gannet::search {

struct PathCosts {
  DocId docid;
  uint16_t proximity, attribute, position;
};

class ForwardScan {
 public:
  // Whether a forward scan gives the costs of the path. Looks up the expansions of its steps.
  static bool Supports(Graph& graph, const Path& path);

  // held          phrases that stand for words of the path and that the documents hold
  // max_weight    greatest weight of a field, for attributeRank
  ForwardScan(Graph& graph, Path path, PathPhrases held, uint32_t max_weight);

  enum class Costs { kProximity, kAll };
  // Computes the costs of `documents`, in place of those of the last call.
  // wanted    costs that are not wanted stay 0
  // REQUIRES: the documents match the path, and hold the phrases of `held` and no others.
  void Run(const DocSet& documents, Costs wanted = Costs::kAll);
  const Path& path() const { return path_; }
  // The costs of the documents of the last Run, ascending by docid.
  const std::vector<PathCosts>& costs() const { return costs_; }
  // The documents of the last Run that are in `within`, by one of their costs.
  // cost    which cost
  // max     documents that cost more are listed at `max`
  std::vector<std::vector<DocId>> ByCost(uint16_t PathCosts::*cost, uint32_t max, const DocSet& within) const;

 private:
  // Costs of documents of the segment, ascending by docid, behind what `costs` holds.
  void RunSegment(size_t segment, const DocSet& documents, std::vector<PathCosts>& costs) const;
  PathCosts CostsOf(DocId docid, WordMasks& masks) const;
  // Cost of the distance between step i and the one before it.
  uint32_t DistanceCost(size_t i, WordMasks& masks) const;
  // Roles of words: i for step i (of a phrase its first word that is not left out), and where distances are counted from
  // other words: of a phrase its first and its last one, of a short prefix the word as typed; of a word for which phrases stand as
  // well those that these end with, together with its own.
  Role OuterRole(size_t i) const { return static_cast<Role>(path_.size() + i); }
  Role LastRole(size_t i) const { return static_cast<Role>(path_.size() * 2 + i); }
  // The words of a step together with the first ones of the phrases that are held for it: all of these, as the word that follows
  // another; such as are not left out, as what stands in a field.
  Role FollowingRole(size_t i) const { return static_cast<Role>(path_.size() * 3 + i); }
  Role PositionRole(size_t i) const { return static_cast<Role>(Holds(i) ? path_.size() * 4 + i : i); }
  bool Holds(size_t i) const { return !held_.empty() && !held_[i].empty(); }

  Graph& graph_;
  Path path_;
  PathPhrases held_;
  uint32_t max_weight_;
  std::vector<bool> ends_;  // by step: phrases stand for its word
  Costs wanted_ = Costs::kAll;
  std::vector<PathCosts> costs_;
};

// Cost of wordPosition (docs/behaviour/ranking.md).
// position          where the word stands in a field
// query_position    where the query has the term
// slots             words of the term: 1, or more for a glued one
uint32_t PositionCostOf(uint32_t position, uint32_t query_position, uint32_t slots);
// Positions are known exactly up to 15 only (docs/behaviour/fields.md).
uint32_t BucketedPosition(uint32_t position);
// The greatest cost of proximity between two words; longer distances cost the same.
inline constexpr uint32_t kFarCost = WordMasks::kDistanceMax;

}  // namespace gannet::search
