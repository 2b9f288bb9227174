// The costs of one path from posting lists: which documents of a large bucket are the best ones, without reading any.
//
// Where a bucket is large, its documents need not be read one by one to split it: the lists of fields tell the cost of
// attributeRank, the lists of early positions the lowest costs of wordPosition, the neighbours of frequent words which
// documents have the words of the query side by side. What lists do not tell is left to a sweep (sweep.h), which gives
// the same costs.
//
// REQUIRES, for all: PathSweep::Supports the path. Threads: one owner. Lifetime: dies before the graph.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "bitmap/docset.h"
#include "search/graph.h"
#include "search/sweep.h"

namespace gannet::search {

class PathLists {
 public:
  PathLists(Graph& graph, const std::vector<SweepStep>& path) : graph_(graph), path_(path) {}

  struct Nearest {
    DocSet sure;    // in these every word stands right behind the one before
    DocSet unsure;  // in these perhaps; in no others
  };
  // nullopt: too many words stand for a step to ask the lists of each.
  std::optional<Nearest> SideBySide(const DocSet& within);
  // Those of `within` whose cost of attributeRank is exactly `cost`. For the first few costs: each asks the lists anew.
  DocSet AtAttribute(uint32_t cost, const DocSet& within, uint32_t max_weight);
  // All of `within` by that cost. max_weight: of the rule.
  std::map<uint32_t, DocSet> ByAttribute(const DocSet& within, uint32_t max_weight);
  // Costs of wordPosition below this one are known from lists; 0: none.
  uint32_t known_positions() const;
  // Those of `within` whose cost of wordPosition is exactly `cost`. REQUIRES: cost < known_positions()
  DocSet AtPosition(uint32_t cost, const DocSet& within);
  // Documents of `within` that have a word of the step (of a phrase its first) in one of the fields.
  DocSet StepDocuments(const SweepStep& step, const segment::FieldSet& fields, const DocSet& within);
  // Documents of `within` that have it at one of the positions of `mask` (bit p: position p, below segment::kHeadPositions).
  DocSet StepHeads(const SweepStep& step, uint32_t mask, const DocSet& within);

 private:
  // Fields that are searched, by weight, as far as it is below max_weight.
  std::map<uint32_t, segment::FieldSet> FieldsByWeight(uint32_t max_weight) const;
  // Documents of `within` whose steps' costs add up to `cost`. of_step(const SweepStep&, uint32_t cost, const DocSet&) gives
  // those that have a word of the step at a place of this cost.
  template <typename OfStep>
  DocSet OfSum(uint32_t cost, const DocSet& within, OfStep&& of_step);
  // Of a phrase: which of its words; kFirstReal leaves out stop words.
  enum class End { kFirst, kFirstReal, kLast };
  // Calls sink(Ordinal begin, Ordinal end) for the words that stand for a step in one segment.
  template <typename Sink>
  void ForEachRange(const SweepStep& step, End end, size_t segment, Sink&& sink);

  Graph& graph_;
  const std::vector<SweepStep>& path_;
};

}  // namespace gannet::search
