// Evaluates words with posting lists: finds the live documents of words of the index, and bounds
// for their number.
//
// Stateless; expensive unions are cached per segment (segment::DocSetCache). Knows no phrase and no
// query.
//
// Owner: the search (query/query_evaluator.h). Threads: any, while no word is added to the words.
// Lifetime: must be destroyed before the snapshot, the scope and the words.
// Cost: the union of the lists, block by block (bitmap/docset_union.h), restricted to `within`; if
// `within` has fewer documents than there are lists, their forward records are read instead, 40 to
// 60 ns each. Bounds read the headers of lists.
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

// In all functions, within: only these documents are wanted; null: all live ones. fields: the
// fields in which a word must occur; null: any.
class Postings {
 public:
  Postings(const index::Snapshot& snapshot, const FieldScope& scope, const IndexWords& words)
      : snapshot_(snapshot), scope_(scope), words_(words) {}

  // The union over all segments of live documents.
  // add       add(size_t segment, const segment::TextReader&, DocSetUnion& out) adds the documents
  //           of one segment; runs on several threads if `lists` is at least SharedListsMin()
  // lists     number of posting lists that `add` joins
  template <typename AddSegment>
  DocSet LiveUnion(const DocSet* within, AddSegment&& add, uint64_t lists = 0) const;
  // Adds the documents of `lists` in one segment to `out`. May omit documents outside `within`.
  void UnionLists(size_t segment, const segment::WordLists& lists, const DocSet* within,
                  DocSetUnion& out) const;

  // Documents that contain the word.
  DocSet WordDocuments(WordNumber word, const segment::FieldSet* fields,
                       const DocSet* within = nullptr) const;
  // Documents that contain one of the words.
  DocSet AnyWord(const WordsBySegment& words, const segment::FieldSet* fields,
                 const DocSet* within) const;
  // Documents that contain all of the words. REQUIRES: at least one word.
  DocSet AllWords(std::vector<WordNumber> words, const segment::FieldSet* fields,
                  const DocSet* within) const;
  // Documents that have the word at a leading position of any field.
  // mask    bit p stands for position p; p is below segment::kLeadingPositions; not 0
  DocSet WordAtPositions(WordNumber word, uint32_t mask, const DocSet* within) const;
  // Documents with a searched field that contains all of the words.
  DocSet WordsTogether(std::span<const WordNumber> words, uint32_t length,
                       const DocSet* within) const;

  // Total bytes of the lists of the word: an estimate that grows with its number of documents.
  uint64_t Frequency(WordNumber word) const;
  // A lower bound for the number of live documents that contain the word.
  uint64_t DocumentsMin(WordNumber word) const;
  // An upper bound for the number of documents that contain the word.
  uint64_t DocumentsMax(WordNumber word) const;
  // An upper bound for the number of documents that contain both words; counts dead documents and
  // all fields.
  uint64_t CommonMax(WordNumber a, WordNumber b) const;
  // Whether every segment that contains both words lists where the second one follows closely after
  // the first.
  bool ListsAdjacency(WordNumber left, WordNumber right) const;

 private:
  // The documents of `documents`, all of the segment, that are in one of the lists. Reads their
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
