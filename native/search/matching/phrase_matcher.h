// Phrase matching: finds the documents of a phrase of the query, of a synonym of several words, or
// of a word split in two.
//
// A document matches a phrase if it contains all its words, each at the right distance after the
// one or two words before it. For two frequent words this is listed in the index; otherwise the
// documents that contain all words are read. If precision is byAttribute, the words only have to be
// in one attribute, which is listed for all words.
//
// Caches the documents that MatchingWithin() has found. Which documents contain two adjacent words
// is cached per segment for later searches (segment::DocSetCache). Knows words and their posting
// lists, but no query.
//
// Owner: the search (query/query_evaluator.h). Threads: one owner; idle threads help to read large
// sets of documents. Lifetime: must be destroyed before the snapshot, the scope, the words and the
// postings.
// Cost: for frequent words, the union of a few adjacency lists per pair of words. For others,
// finding the documents of the words, and 40 to 60 ns for each document that contains them all; for
// two words only once per segment.
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

// The documents of a phrase as found by posting lists. No other document matches.
struct PhraseMatches {
  DocSet verified;     // documents that match
  DocSet approximate;  // documents that contain the words; must be read to verify that they are
                       // adjacent
};

// In all functions, fields: the fields in which each word must occur; null: any. The distance of
// the words is checked in all fields. within: only these documents are wanted; null: all live ones.
class PhraseMatcher {
 public:
  static constexpr uint64_t kAll = ~uint64_t{0};

  PhraseMatcher(const index::Snapshot& snapshot, const FieldScope& scope, const IndexWords& words,
                const Postings& postings)
      : snapshot_(snapshot), scope_(scope), words_(words), postings_(postings) {}

  // Documents that match.
  // enough    may stop after this many documents, whichever they are
  DocSet Documents(const Phrase& phrase, const segment::FieldSet* fields,
                   const DocSet* within = nullptr, uint64_t enough = kAll) const;
  // The documents of `within` that match in the searched fields, and possibly others that match.
  // The result is cached by the address of the phrase, and is valid until the next call for the
  // same phrase.
  const DocSet& MatchingWithin(const Phrase& phrase, const DocSet& within);
  // An upper bound for the number of documents of a phrase, in any fields.
  uint64_t DocumentsMax(const Phrase& phrase) const;

  // The documents of a phrase as found by posting lists.
  PhraseMatches ByLists(const Phrase& phrase, const segment::FieldSet* fields,
                        const DocSet* within) const;
  // The documents of a phrase: reads the approximate ones of `matches`, which ByLists returned for
  // the same arguments.
  DocSet VerifyApproximate(const Phrase& phrase, const segment::FieldSet* fields,
                           const DocSet* within, PhraseMatches matches) const;
  // Whether it is cheaper to read only some documents of a phrase now than to read all and cache
  // the result.
  // documents    the approximate documents of the phrase
  // some         number of documents that would be read
  bool PaysToReadSome(const Phrase& phrase, const DocSet& documents, uint64_t some) const;
  // The documents of `documents` in which the words are where the phrase requires. Counts towards
  // PaysToReadSome.
  // documents    live, and contain all words of the phrase
  DocSet Read(const Phrase& phrase, const DocSet& documents) const;

 private:
  struct PhraseWords;

  // Documents that contain all the words: a superset of the documents that match the phrase. null:
  // all live documents.
  // with_words    storage for the result, if it is computed here
  const DocSet* Among(const PhraseWords& words, const segment::FieldSet* fields,
                      const DocSet* within, DocSet& with_words) const;
  // Whether the position of two words is cached. within: the documents that are wanted.
  bool KeepsPair(const PhraseWords& words, const DocSet* within) const;
  // The key of a phrase of two words in DocSetCache.
  std::string PairKey(size_t segment, const PhraseWords& words) const;
  // For one segment. among: see Among.
  PhraseMatches ByLists(size_t segment, const PhraseWords& words, const DocSet* among) const;
  // The documents of `among` in which the words are where the phrase requires. among: documents of
  // the segment that contain all words. read: receives the number of documents read.
  DocSet Read(size_t segment, const PhraseWords& words, const DocSet& among, uint64_t enough,
              uint64_t* read = nullptr) const;
  DocSet Read(const PhraseWords& words, std::span<const DocumentBatch> matches) const;
  // The same for two words. among: all live documents that contain them in `fields`.
  DocSet ReadPair(size_t segment, const PhraseWords& words, const segment::FieldSet* fields,
                  const DocSet& among, uint64_t enough) const;

  struct LastResult {
    DocSet within, documents;
  };
  const index::Snapshot& snapshot_;
  const FieldScope& scope_;
  const IndexWords& words_;
  const Postings& postings_;
  std::map<const Phrase*, LastResult>
      last_results_;  // the last result of MatchingWithin for each phrase
};

}  // namespace gannet::search
