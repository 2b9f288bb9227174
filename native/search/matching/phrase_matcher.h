// Phrase matching: the documents of phrases, those of the query, synonyms of several words, and
// words split in two.
//
// A document matches a phrase when it holds all its words, and each of them stands where it must
// behind the one or two before it. Of two frequent words that is listed; otherwise the documents
// that hold all words are read. Where precision is byAttribute, they only have to stand in one
// attribute, which is listed of all words.
//
// Holds the documents that MatchingWithin() has found. Where two words stand side by side is kept
// per segment for later searches (segment::DocSetCache). Knows words and their posting lists, and
// no query.
//
// Owner: the search (query/query_evaluator.h). Threads: one owner; large sets of documents are read
// with the help of idle threads. Lifetime: dies before the snapshot, the scope, the words and the
// postings.
// Cost: of frequent words the union of a few adjacency lists for each two words. Of others the
// documents of the words, and 40 to 60 ns for each document that holds them all; of two words only
// once per segment.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/matching/document_batches.h"
#include "search/matching/field_scope.h"
#include "search/matching/index_words.h"
#include "search/matching/postings.h"

namespace gannet::search {

// The documents of a phrase as posting lists tell them. No other document matches.
struct PhraseMatches {
  DocSet verified;     // match
  DocSet approximate;  // hold the words; whether they stand side by side must be read
};

// In all functions, fields: the words count in these; null: in any. How they stand counts in any
// field. within: only these documents are wanted; null: all live ones.
class PhraseMatcher {
 public:
  static constexpr uint64_t kAll = ~uint64_t{0};

  PhraseMatcher(const index::Snapshot& snapshot, const FieldScope& scope, const IndexWords& words,
                const Postings& postings)
      : snapshot_(snapshot), scope_(scope), words_(words), postings_(postings) {}

  // Documents that match.
  // enough    that many documents are enough, whichever they are
  DocSet Documents(const Phrase& phrase, const segment::FieldSet* fields,
                   const DocSet* within = nullptr, uint64_t enough = kAll) const;
  // The documents of `within` that match in the fields that are searched, and possibly others that
  // match. The result is kept by the address of the phrase, and valid until the phrase is asked for
  // again.
  const DocSet& MatchingWithin(const Phrase& phrase, const DocSet& within);
  // An upper bound of the documents of a phrase, in any fields.
  uint64_t MostDocuments(const Phrase& phrase) const;

  // The documents of a phrase as posting lists tell them.
  PhraseMatches ByLists(const Phrase& phrase, const segment::FieldSet* fields,
                        const DocSet* within) const;
  // The documents of a phrase: reads the approximate ones of `matches`, which ByLists gave for the
  // same arguments.
  DocSet VerifyApproximate(const Phrase& phrase, const segment::FieldSet* fields,
                           const DocSet* within, PhraseMatches matches) const;
  // Whether to read only some documents of a phrase now, instead of all at once and keeping the
  // result.
  // documents    the approximate documents of the phrase
  // some         how many of them would be read
  bool PaysToReadSome(const Phrase& phrase, const DocSet& documents, uint64_t some) const;
  // The documents of `documents` in which the words stand as the phrase wants. Reading counts for
  // PaysToReadSome.
  // documents    live, and hold all words of the phrase
  DocSet Read(const Phrase& phrase, const DocSet& documents) const;

 private:
  struct PhraseWords;

  // Documents that hold all the words: those of the result (null: all live ones) are no fewer than
  // the ones that match the phrase.
  // with_words    where they are put if they are found here
  const DocSet* Among(const PhraseWords& words, const segment::FieldSet* fields,
                      const DocSet* within, DocSet& with_words) const;
  // Whether it is kept where two words stand. within: the documents that are asked for.
  bool KeepsPair(const PhraseWords& words, const DocSet* within) const;
  // Of a phrase of two words, in what the segment has found (DocSetCache).
  std::string PairKey(size_t segment, const PhraseWords& words) const;
  // Of one segment. among: see Among.
  PhraseMatches ByLists(size_t segment, const PhraseWords& words, const DocSet* among) const;
  // Those of `among`, documents of the segment that hold all words of the phrase, in which they
  // stand as they must. read: how many of them were read.
  DocSet Read(size_t segment, const PhraseWords& words, const DocSet& among, uint64_t enough,
              uint64_t* read = nullptr) const;
  DocSet Read(const PhraseWords& words, std::span<const DocumentBatch> matches) const;
  // The same of two words. among: all live documents that hold them in `fields`.
  DocSet ReadPair(size_t segment, const PhraseWords& words, const segment::FieldSet* fields,
                  const DocSet& among, uint64_t enough) const;

  struct Asked {
    DocSet within, documents;
  };
  const index::Snapshot& snapshot_;
  const FieldScope& scope_;
  const IndexWords& words_;
  const Postings& postings_;
  std::map<const Phrase*, Asked> asked_;  // what MatchingWithin was asked for last
};

}  // namespace gannet::search
