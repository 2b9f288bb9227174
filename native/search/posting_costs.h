// The costs of one path from posting lists: which documents of a large bucket are the best ones, without reading any.
//
// Where a bucket is large, its documents need not be read one by one to split it: the lists of fields tell the cost of
// attributeRank, the lists of early positions the lowest costs of wordPosition, the neighbours of frequent words which
// documents have the words of the query side by side. What lists do not tell is left to a sweep (forward_scan.h), which gives
// the same costs.
//
// REQUIRES, for all: ForwardScan::Supports the path. Threads: one owner. Lifetime: dies before the graph.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "bitmap/docset.h"
#include "search/graph.h"
#include "search/forward_scan.h"

namespace gannet::search {

class PostingCosts {
 public:
  // held: of the phrases that stand for words of the path those that the documents hold, which are asked for; they hold no others.
  PostingCosts(Graph& graph, const Path& path, const PathPhrases& held) : graph_(graph), path_(path), held_(held), pairs_(path.size()) {}

  struct Nearest {
    DocSet verified;    // in these every word stands right behind the one before
    DocSet approximate;  // in these perhaps; in no others
  };
  // nullopt: too many words stand for a step to ask the lists of each.
  std::optional<Nearest> SideBySide(const DocSet& within);
  // Documents by what the distances between their words cost, ngrams apart.
  struct Distances {
    std::vector<DocSet> known;    // by cost
    std::vector<DocSet> unknown;  // by what they cost at least
  };
  // All of `within`. REQUIRES: SideBySide was no nullopt for a set that holds it.
  Distances ByDistance(const DocSet& within);
  // Those of `within` whose cost of attributeRank is exactly `cost`. For the first few costs: each asks the lists anew.
  DocSet AtAttribute(uint32_t cost, const DocSet& within, uint32_t max_weight);
  // All of `within` by that cost. max_weight: of the rule.
  std::map<uint32_t, DocSet> ByAttribute(const DocSet& within, uint32_t max_weight);
  // Costs of wordPosition below this one are known from lists; 0: none.
  uint32_t known_positions() const;
  // Those of `within` whose cost of wordPosition is exactly `cost`. For the first few costs: each asks the lists anew.
  // REQUIRES: cost < known_positions()
  DocSet AtPosition(uint32_t cost, const DocSet& within);
  struct Positions {
    std::map<uint32_t, DocSet> known;  // by cost
    DocSet unknown;                    // a word stands far from the beginning of every field
    uint32_t unknown_least = 0;        // what those cost at least
  };
  // All of `within`. REQUIRES: known_positions() > 0
  Positions ByPosition(const DocSet& within);
  // Early positions at which a word of the step costs `cost`, as a mask for StepAtPositions.
  uint32_t PositionsAt(const Step& step, uint32_t cost) const;
  // Documents of `within` (null: all live ones) that have a word of step `i` (of a phrase its first) in a field of the least
  // weight.
  DocSet InBestFields(size_t i, const DocSet* within, uint32_t max_weight);
  // Those that have it in one of the fields.
  DocSet StepDocuments(size_t i, const segment::FieldSet& fields, const DocSet* within);
  // Those that have it at one of the positions of `mask` (bit p: position p, below segment::kLeadingPositions).
  DocSet StepAtPositions(size_t i, uint32_t mask, const DocSet* within);

 private:
  // Documents of `within` in one of the lists, `words` apart, of a word of step `i`.
  DocSet InLists(size_t i, const segment::WordLists& lists, const DocSet* within);
  // Fields that are searched, by weight, as far as it is below max_weight.
  std::map<uint32_t, segment::FieldSet> FieldsByWeight(uint32_t max_weight) const;
  // Documents of `within` whose steps' costs add up to `cost`. of_step(size_t i, uint32_t cost, const DocSet&) gives those that
  // have a word of step `i` at a place of this cost.
  template <typename OfStep>
  DocSet OfSum(uint32_t cost, const DocSet& within, OfStep&& of_step);
  // What the step costs at least where it stands at no early position.
  uint32_t UnknownPositionCost(const Step& step) const;
  // Of a phrase: which of its words; kFirstReal leaves out stop words.
  enum class End { kFirst, kFirstReal, kLast };
  template <typename Sink>
  void SinkWordAt(const Phrase& phrase, End end, size_t segment, Sink&& sink);
  // Calls sink(Ordinal begin, Ordinal end) for the words that stand for a step in one segment.
  template <typename Sink>
  void ForEachRange(const Step& step, End end, size_t segment, Sink&& sink);
  // The same for the phrases that are held for step `i`.
  template <typename Sink>
  void ForEachHeld(size_t i, End end, size_t segment, Sink&& sink);

  // The words of two steps that follow each other, in one segment. A pair of frequent words is listed.
  struct PairWords {
    std::vector<Ordinal> left, right;  // frequent ones; of the right step also those that begin a phrase that is held for it
    std::vector<Ordinal> ends;         // those that end a phrase that stands for the left step: the right ones count behind them
    std::vector<Ordinal> before;       // those of `right` that count in front of the left ones as well
    std::vector<segment::WordRange> rare;  // the others of either step
  };
  // Of step `i` and the one before it, by segment; empty when they are not next to each other in the query.
  const std::vector<PairWords>& WordsOfPair(size_t i);
  // Documents of `within` with a rare word of the pair, whose distance lists do not tell.
  DocSet Unlisted(const std::vector<PairWords>& words, const DocSet& within);

  Graph& graph_;
  const Path& path_;
  const PathPhrases& held_;
  std::vector<std::optional<std::vector<PairWords>>> pairs_;  // by step, once asked for
};

}  // namespace gannet::search
