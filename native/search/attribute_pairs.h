// Which documents hold words of two neighbouring steps in one attribute: the rule proximity where precision is
// byAttribute (docs/behaviour/ranking.md, proximity).
//
// That is found out once for a pair of words, among the documents of the bucket that asks first; a later bucket of the
// same search finds none by this pair. Pairs that are a split of a word of the query graph are known for all documents.
//
// What was asked for is kept as products: every word of one side with every word of the other. Of many documents, the lists of
// attributes tell which hold a pair of a product, unless some of its pairs were asked for, and others not. Otherwise documents are
// read: there a pair of words is known by where it stands, so words need no names.
//
// Threads: one owner. Lifetime: dies before the graph and the candidates.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "bitmap/docset.h"
#include "search/candidates.h"
#include "search/graph.h"
#include "search/forward_scan.h"

namespace gannet::search {

class AttributePairs {
 public:
  // Make it before `candidates` loads any document.
  AttributePairs(Graph& graph, Candidates& candidates);

  // What is asked for from here on belongs to another bucket.
  void BeginBucket();
  // Documents of `among` that hold a word of each step in one attribute, as far as this bucket may know.
  // backward: pairs in the other order are asked for as well.
  // REQUIRES: expansions of all steps of the bucket were looked up.
  DocSet Holding(const Step& left, const Step& right, bool backward, const DocSet& among);

 private:
  // A word, the words of a class, all words of a short prefix, or the end of a phrase.
  struct Side {
    enum class Kind : uint8_t { kWord, kClass, kPrefix } kind;
    uint16_t node = 0;
    int8_t typos = 0;
    WordNumber word = kNoWord;       // of kWord
    const Phrase* phrase = nullptr;  // only documents that match it count
    bool operator==(const Side& other) const {
      return kind == other.kind && node == other.node && typos == other.typos && word == other.word;
    }
  };
  using Product = std::pair<Side, Side>;

  // Which of the words of a side are words of another.
  enum class Overlap { kNone, kSome, kAll };

  std::vector<Side> SidesOf(const Step& step, bool last);
  void Ask(const Side& left, const Side& right, const DocSet& among, DocSet& out);
  // Those of `among`, as the lists of attributes tell. nullopt: they do not.
  std::optional<DocSet> ByLists(const Side& left, const Side& right, const DocSet& among) const;
  DocSet ShareField(const WordsBySegment& left, const WordsBySegment& right, const DocSet& among) const;
  WordsBySegment WordsOf(const Side& side) const;
  Overlap OverlapOf(const Side& asked, const Side& side) const;
  bool Shares(DocId docid, const Side& left, const Side& right) const;
  // Whether an earlier bucket asked for the pair of words that stand at these positions.
  bool WasAsked(DocId docid, const Side& left, TokenPosition x, const Side& right, TokenPosition y) const;
  std::span<const TokenPosition> PositionsOf(DocId docid, const Side& side) const;
  bool Covers(DocId docid, const Side& asked, const Side& side, TokenPosition position) const;
  const DocSet& DocumentsOf(const Phrase& phrase);

  Graph& graph_;
  Candidates& candidates_;
  std::vector<std::pair<WordNumber, WordNumber>> splits_;
  std::vector<Product> asked_;    // by earlier buckets
  std::vector<Product> present_;  // by this one
  std::map<const Phrase*, DocSet> phrases_;
};

}  // namespace gannet::search
