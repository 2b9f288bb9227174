// Finds the best documents for a question (docs/behaviour/relevance.md).
//
// Owner: the search. Threads: one owner. Lifetime: dies before the snapshot, the scope and the
// evaluator.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "bitmap/docset.h"
#include "search/natural/block_scan.h"
#include "search/natural/document_scorer.h"
#include "search/natural/question.h"
#include "search/results/highlighter.h"
#include "search/vectors/vector_scan.h"

namespace gannet::search {

class NaturalScan {
 public:
  // deadline    once it has passed, no more documents are read
  // locales     those that the request names
  NaturalScan(const ParsedQuery& query, QueryEvaluator& evaluator,
              std::span<const text::Locale> locales, const Deadline& deadline);

  // The documents of `allowed` (null: all live ones) that have a word of the question, and every
  // phrase in quotes. Call it once, before the other functions.
  DocSet Matching(const DocSet* allowed);

  // The `count` best documents of `candidates`, best first, then by docid, and all others that are
  // as good as the last of them. After the deadline: the best of those read so far.
  // candidates    a subset of Matching()
  std::vector<NearDocument> Best(const DocSet& candidates, size_t count) const;
  // Documents of `candidates` with at least this score. After the deadline: those known to have it.
  DocSet AtLeast(const DocSet& candidates, double score) const;

  // Appends JSON members with the parts of a document's score.
  void AppendFindings(DocId docid, std::string& out) const;
  // The words of the index that are marked in the text of hits.
  MatchTerms TermsToMark() const;

 private:
  // Adds to lists_ the documents that have one of the variants `first` to `last` of the word.
  void AddList(const QuestionWord& word, Variant first, Variant last, const DocSet* allowed);
  // Calls sink(DocId, double worth) for the candidates that can be worth worth_min() or more, and
  // perhaps for others, in any order, until the deadline.
  template <typename Sink>
  void ForEachWorth(const DocSet& candidates, const std::function<double()>& worth_min,
                    Sink&& sink) const;

  // The smallest sum of the bounds of lists_ with which a document can have `got`.
  double SumMin(double got) const;

  const index::Snapshot& snapshot_;
  QueryEvaluator& evaluator_;
  const Deadline deadline_;
  std::vector<Phrase> phrases_;
  bool impossible_ = false;  // the index lacks a word of a phrase
  Question question_;
  std::vector<FieldCounts> fields_;
  std::vector<BoundedList> lists_;
  // The smallest sum of bounds of a document that has all words; set by Matching().
  double all_words_ = 0;
};

}  // namespace gannet::search
