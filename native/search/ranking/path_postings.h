// Path postings: finds the documents of the words of a path with posting lists, step by step. Rules
// compute costs from them without reading a document (rules/).
//
// REQUIRES, for all functions: HasPostings(path).
// Threads: one owner. Lifetime: must be destroyed before the query and the path, which it borrows.
// Cost: per call, a union of the posting lists of a step's words, within the documents given.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "bitmap/docset.h"
#include "search/query/query_evaluator.h"
#include "search/ranking/bucket.h"

namespace gannet::search {

// Whether posting lists cover the words of every step. Looks up the expansions of the steps.
bool HasPostings(TermExpansion& expansion, const Path& path);

class PathPostings {
 public:
  // held    phrases that stand for words of the path and that all documents contain; the documents
  //         passed to the functions contain no other such phrase
  PathPostings(QueryEvaluator& query, const Path& path, const PathPhrases& held)
      : query_(query), path_(path), held_(held) {}

  // Documents of `within` (null: all live ones) that contain a word of step `i` in one of `fields`;
  // for a phrase, its first word that is not a stop word.
  DocSet InFields(size_t i, const segment::FieldSet& fields, const DocSet* within) {
    return InLists(i, {.words = {}, .fields = &fields}, within);
  }
  // The same at one of the positions of `mask`: bit p stands for position p, below
  // segment::kLeadingPositions.
  DocSet AtPositions(size_t i, uint32_t mask, const DocSet* within) {
    return mask == 0 ? DocSet() : InLists(i, {.words = {}, .leading_positions = mask}, within);
  }
  // Documents of `within` whose costs over all steps add up to `cost`.
  // of_step    returns the documents of `within` in which step `i` may cost `cost`, unless it may
  //            cost less
  using OfStep = std::function<DocSet(size_t i, uint32_t cost, const DocSet& within)>;
  DocSet OfSum(uint32_t cost, const DocSet& within, const OfStep& of_step) const;

  // A word of a phrase; kFirstReal: the first that is not a stop word.
  enum class End { kFirst, kFirstReal, kLast };
  template <typename Sink>
  void SinkWordAt(const Phrase& phrase, End end, size_t segment, Sink&& sink);
  // Calls sink(Ordinal begin, Ordinal end) for the words that stand for step `i` in one segment.
  template <typename Sink>
  void ForEachRange(size_t i, End end, size_t segment, Sink&& sink);
  // The same for the phrases that are held for step `i`.
  template <typename Sink>
  void ForEachHeld(size_t i, End end, size_t segment, Sink&& sink);

 private:
  // lists.words is ignored.
  DocSet InLists(size_t i, const segment::WordLists& lists, const DocSet* within);

  QueryEvaluator& query_;
  const Path& path_;
  const PathPhrases& held_;
};

template <typename Sink>
void PathPostings::SinkWordAt(const Phrase& phrase, End end, size_t segment, Sink&& sink) {
  const WordNumber word = end == End::kFirstReal ? phrase.FirstReal()
                          : end == End::kFirst   ? phrase.words.front()
                                                 : phrase.words.back();
  if (const Ordinal ordinal = query_.words.OrdinalOf(word, segment); ordinal != kNoOrdinal)
    sink(ordinal, ordinal + 1);
}

template <typename Sink>
void PathPostings::ForEachRange(size_t i, End end, size_t segment, Sink&& sink) {
  const Step& step = path_[i];
  if (!query_.graph.NodeOf(step).term.phrase)
    return query_.expansion.ForEachRange(step, segment, sink);
  SinkWordAt(query_.expansion.Class(step.node, 0).phrases[0], end, segment, sink);
}

template <typename Sink>
void PathPostings::ForEachHeld(size_t i, End end, size_t segment, Sink&& sink) {
  if (held_.empty()) return;
  for (const Phrase* phrase : held_[i]) SinkWordAt(*phrase, end, segment, sink);
}

}  // namespace gannet::search
