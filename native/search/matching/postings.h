// Postings evaluation of words: which live documents posting lists give for words of the index, and
// bounds of how many.
//
// Holds nothing of its own; what is costly to join is kept per segment (segment::DocSetCache).
// Knows no phrase and no query.
//
// Owner: the search (query/query_evaluator.h). Threads: any, while no word is added to the words.
// Lifetime: dies before the snapshot, the scope and the words.
// Cost: the union of the lists that are asked for, block by block (bitmap/docset_union.h), cut to
// `within`; where `within` is smaller than the lists are many, its forward records are read
// instead, 40 to 60 ns each. Bounds read the heads of lists.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/parallel_for.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/matching/field_scope.h"
#include "search/matching/index_words.h"
#include "search/matching/large_bucket.h"

namespace gannet::search {

// Words of each segment.
using WordsBySegment = std::vector<std::vector<segment::WordRange>>;

// In all functions, within: only these documents are wanted; null: all live ones. fields: a word
// counts in these; null: in any.
class Postings {
 public:
  Postings(const index::Snapshot& snapshot, const FieldScope& scope, const IndexWords& words)
      : snapshot_(snapshot), scope_(scope), words_(words) {}

  // The union over all segments of live documents.
  // add       add(size_t segment, const segment::TextReader&, DocSetUnion& out) adds the documents
  //           of one segment; runs on several threads if `lists` is at least SharedListsMin()
  // lists     how many posting lists `add` joins
  template <typename AddSegment>
  DocSet LiveUnion(const DocSet* within, AddSegment&& add, uint64_t lists = 0) const;
  // Adds the documents of `lists` in one segment to `out`. Documents outside `within` may be left
  // out.
  void UnionLists(size_t segment, const segment::WordLists& lists, const DocSet* within,
                  DocSetUnion& out) const;

  // Documents that hold the word.
  DocSet WordDocuments(WordNumber word, const segment::FieldSet* fields,
                       const DocSet* within = nullptr) const;
  // Documents that hold one of the words.
  DocSet AnyWord(const WordsBySegment& words, const segment::FieldSet* fields,
                 const DocSet* within) const;
  // Documents that hold all of the words, at least one.
  DocSet AllWords(std::vector<WordNumber> words, const segment::FieldSet* fields,
                  const DocSet* within) const;
  // Documents that have the word at a leading position of any field.
  // mask    bit p stands for position p; p is below segment::kLeadingPositions; not 0
  DocSet WordAtPositions(WordNumber word, uint32_t mask, const DocSet* within) const;
  // Documents with a searched field that holds all of the words.
  // length    the number of words of that field, at most segment::kListedLengthMax; 0: any
  DocSet WordsTogether(std::span<const WordNumber> words, uint32_t length,
                       const DocSet* within) const;

  // Grows with the number of documents that hold the word: the bytes of its lists.
  uint64_t Frequency(WordNumber word) const;
  // No more than the live documents that hold the word.
  uint64_t FewestDocuments(WordNumber word) const;
  // No fewer than the documents that hold the word.
  uint64_t MostDocuments(WordNumber word) const;
  // No fewer than the documents that hold both words; dead ones and all fields count.
  uint64_t MostCommon(WordNumber a, WordNumber b) const;
  // Whether every segment that holds both words lists where the second stands close behind the
  // first.
  bool ListsAdjacency(WordNumber left, WordNumber right) const;

 private:
  // Those of `documents`, which the segment has, that are in one of the lists: told from their
  // records.
  std::vector<DocId> ReadLists(size_t segment, const segment::WordLists& lists,
                               const DocSet& documents) const;

  const index::Snapshot& snapshot_;
  const FieldScope& scope_;
  const IndexWords& words_;
};

template <typename AddSegment>
DocSet Postings::LiveUnion(const DocSet* within, AddSegment&& add, uint64_t lists) const {
  if (within != nullptr && within->empty()) return {};
  DocSetUnion documents(within);
  if (lists >= SharedListsMin()) {
    std::vector<std::unique_ptr<DocSetUnion>> of_segments;
    for (size_t s = 0; s < snapshot_.segments.size(); ++s)
      of_segments.push_back(std::make_unique<DocSetUnion>(within));
    ParallelFor(of_segments.size(),
                [&](size_t s) { add(s, *snapshot_.segments[s]->text, *of_segments[s]); });
    for (size_t s = 0; s < of_segments.size(); ++s)
      documents.Add(*of_segments[s], *snapshot_.segments[s]->dead_bits);
    return documents.Finish();
  }
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const index::SegmentView& view = *snapshot_.segments[s];
    if (view.all_live()) {
      add(s, *view.text, documents);
    } else {
      DocSetUnion here(within);
      add(s, *view.text, here);
      documents.Add(here, *view.dead_bits);
    }
  }
  return documents.Finish();
}

}  // namespace gannet::search
