// Which documents contain words of two adjacent steps in one attribute: the rule proximity if
// proximityPrecision is byAttribute (docs/behaviour/ranking.md, proximity).
//
// A pair of words is looked up once, among the documents of the first bucket that needs it. Later
// buckets of the same search do not find documents by that pair, unless the pair is a split of a
// word of the query graph. The reference implementation behaves like this, so the class records
// which pairs were looked up, as products: every word of one side with every word of the other.
//
// For many documents, the postings of fields give those that contain a pair of a product, if all
// pairs of the product were looked up before or none. Otherwise documents are read.
//
// Threads: one owner. Lifetime: must be destroyed before the query.
// Cost: small sets of documents are read once per product.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "bitmap/docset.h"
#include "search/query/query_evaluator.h"

namespace gannet::search {

class AttributePairs {
 public:
  explicit AttributePairs(QueryEvaluator& query);

  // Starts a new bucket, to which the pairs looked up from now on belong.
  void BeginBucket();
  // The documents of `among` that contain a word of each step in one attribute, by pairs that this
  // bucket may use.
  // backward    also look for pairs in reverse order
  // REQUIRES: the expansions of all steps of the bucket were looked up.
  DocSet Holding(const Step& left, const Step& right, bool backward, const DocSet& among);

 private:
  // A word, the words of a class, all words of a short prefix, or the end of a phrase.
  struct Side {
    enum class Kind : uint8_t { kWord, kClass, kPrefix } kind;
    NodeNumber node = 0;
    int8_t typos = 0;
    WordNumber word = kNoWord;       // for kWord
    const Phrase* phrase = nullptr;  // only documents that match this phrase count
    bool operator==(const Side& other) const {
      return kind == other.kind && node == other.node && typos == other.typos && word == other.word;
    }
  };
  using Product = std::pair<Side, Side>;

  // How many of the words of one side are words of another side.
  enum class Overlap { kNone, kSome, kAll };

  std::vector<Side> SidesOf(const Step& step, bool last);
  void LookUp(const Side& left, const Side& right, const DocSet& among, DocSet& out);
  // The same with the postings of fields; nullopt: they do not decide.
  std::optional<DocSet> ByLists(const Side& left, const Side& right, const DocSet& among) const;
  DocSet ShareField(const WordsBySegment& left, const WordsBySegment& right,
                    const DocSet& among) const;
  WordsBySegment WordsOf(const Side& side) const;
  Overlap OverlapOf(const Side& earlier, const Side& side) const;
  // The documents of `among` with a pair that no earlier bucket has looked up, from their records.
  DocSet ByReading(const Side& left, const Side& right, const DocSet& among) const;
  const DocSet& DocumentsOf(const Phrase& phrase);

  QueryEvaluator& query_;
  std::vector<std::pair<WordNumber, WordNumber>> splits_;
  std::vector<Product> earlier_;  // looked up by earlier buckets
  std::vector<Product> present_;  // looked up by this bucket
  std::map<const Phrase*, DocSet> phrases_;
};

}  // namespace gannet::search
