// Finds the best documents for a question (docs/behaviour/relevance.md).
//
// Owner: the search. Threads: one owner. Lifetime: dies before the snapshot, the scope and the
// evaluator.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "bitmap/docset.h"
#include "search/natural/document_scorer.h"
#include "search/natural/question.h"
#include "search/natural/scan_lists.h"
#include "search/natural/score_bound.h"
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
  // The documents that have a word of the question.
  DocSet WithWords(const DocSet* allowed);
  const ScanLists& ListsOf(size_t segment) const;
  // Calls sink(DocId, double worth) for the candidates that can be worth worth_min() or more, and
  // perhaps for others, in any order, until the deadline.
  template <typename Sink>
  void ForEachWorth(const DocSet& candidates, const std::function<double()>& worth_min,
                    Sink&& sink) const;

  const index::Snapshot& snapshot_;
  QueryEvaluator& evaluator_;
  const Deadline deadline_;
  std::vector<Phrase> phrases_;
  bool impossible_ = false;  // the index lacks a word of a phrase
  Question question_;
  std::vector<FieldCounts> fields_;
  const ScoreBound bound_;
  // By word: the documents of QuestionWord::characters. Set by Matching().
  std::vector<DocSet> characters_;
  mutable std::vector<std::unique_ptr<ScanLists>> lists_;  // by segment; null: not made yet
};

}  // namespace gannet::search
