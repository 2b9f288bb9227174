// Posting costs: what posting lists tell of the costs of one path, without reading any document.
//
// The postings of fields decide the cost of attributeRank. Leading-position postings decide the
// lowest costs of wordPosition. Adjacency postings decide the cost of proximity for frequent words.
// For the rest the answer is a lower bound; a forward scan (forward_scan.h) gives the same costs
// exactly.
//
// REQUIRES, for all functions: ForwardScan::Supports(path).
// Threads: one owner. Lifetime: an object dies before the graph, and before the path it borrows.
// Cost: a union of the posting lists of each step's words per call, within the documents given.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "bitmap/docset.h"
#include "search/query/graph.h"
#include "search/ranking/forward_scan.h"

namespace gannet::search {

class PostingCosts {
 public:
  // held    phrases that stand for words of the path and that all documents hold; the documents asked
  //         about hold no other such phrase
  PostingCosts(Graph& graph, const Path& path, const PathPhrases& held) : graph_(graph), path_(path), held_(held), pairs_(path.size()) {}

  struct Nearest {
    DocSet verified;     // every word stands directly behind the one before
    DocSet approximate;  // every word may; in no other document does it
  };
  // The documents of `within` with the least cost of proximity. nullopt: so many words stand for a
  // step that asking their lists would take too long.
  std::optional<Nearest> SideBySide(const DocSet& within);
  // Documents by the cost of proximity, without the constant cost of ngrams.
  struct Distances {
    std::vector<DocSet> known;    // by cost
    std::vector<DocSet> unknown;  // by lower bound of the cost
  };
  // All documents of `within`.
  // REQUIRES: SideBySide gave a value for a superset of `within`.
  Distances ByDistance(const DocSet& within);
  // The documents of `within` whose cost of attributeRank is exactly `cost`. Each call asks the lists
  // again, so use it for the first few costs.
  // max_weight    greatest weight of a field
  DocSet AtAttribute(uint32_t cost, const DocSet& within, uint32_t max_weight);
  // All documents of `within` by their cost of attributeRank.
  std::map<uint32_t, DocSet> ByAttribute(const DocSet& within, uint32_t max_weight);
  // Posting lists decide all costs of wordPosition below this one; 0: none.
  uint32_t known_positions() const;
  // The documents of `within` whose cost of wordPosition is exactly `cost`. Each call asks the lists
  // again, so use it for the first few costs.
  // REQUIRES: cost < known_positions()
  DocSet AtPosition(uint32_t cost, const DocSet& within);
  struct Positions {
    std::map<uint32_t, DocSet> known;  // by cost
    DocSet unknown;                    // documents in which a word stands at no leading position
    uint32_t unknown_least = 0;        // lower bound of the cost of the unknown ones
  };
  // All documents of `within` by their cost of wordPosition. REQUIRES: known_positions() > 0
  Positions ByPosition(const DocSet& within);
  // The leading positions at which a word of the step costs `cost`, as a mask for StepAtPositions.
  uint32_t PositionsAt(const Step& step, uint32_t cost) const;
  // Documents of `within` (null: all live ones) that have a word of step `i`, of a phrase the first
  // word, in a field of the least weight.
  DocSet InBestFields(size_t i, const DocSet* within, uint32_t max_weight);
  // Documents of `within` that have a word of step `i` in one of `fields`.
  DocSet StepDocuments(size_t i, const segment::FieldSet& fields, const DocSet* within);
  // Documents of `within` that have a word of step `i` at one of the positions of `mask`.
  // mask    bit p stands for position p; p is below segment::kLeadingPositions
  DocSet StepAtPositions(size_t i, uint32_t mask, const DocSet* within);

 private:
  // Documents of `within` in one of `lists` of a word of step `i`. lists.words is ignored.
  DocSet InLists(size_t i, const segment::WordLists& lists, const DocSet* within);
  // The searched fields whose weight is below max_weight, by weight.
  std::map<uint32_t, segment::FieldSet> FieldsByWeight(uint32_t max_weight) const;
  // Documents of `within` whose steps' costs add up to `cost`.
  // of_step    called as of_step(size_t i, uint32_t cost, const DocSet& within): the documents in
  //            which a word of step `i` costs `cost`
  template <typename OfStep>
  DocSet OfSum(uint32_t cost, const DocSet& within, OfStep&& of_step);
  // The least cost of the step where none of its words stands at a leading position.
  uint32_t UnknownPositionCost(const Step& step) const;
  // Which word of a phrase; kFirstReal: the first that is no stop word.
  enum class End { kFirst, kFirstReal, kLast };
  template <typename Sink>
  void SinkWordAt(const Phrase& phrase, End end, size_t segment, Sink&& sink);
  // Calls sink(Ordinal begin, Ordinal end) for the words that stand for a step in one segment.
  template <typename Sink>
  void ForEachRange(const Step& step, End end, size_t segment, Sink&& sink);
  // Likewise for the phrases that are held for step `i`.
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
