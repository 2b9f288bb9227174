// The documents that answer a question best (docs/behaviour/relevance.md).
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
  // deadline    once it has passed no more documents are read
  // locales     that the request names
  NaturalScan(const ParsedQuery& query, QueryEvaluator& evaluator,
              std::span<const text::Locale> locales, const Deadline& deadline);

  // The documents of `allowed` (null: all live ones) that have a word of the question, and every
  // phrase in quotes. To be called before the others, once.
  DocSet Matching(const DocSet* allowed);

  // The `count` best documents of `candidates`, best first, then by docid; and all others that are
  // as good as the last of them. After the deadline: of those that have been read.
  // candidates    a subset of Matching()
  std::vector<NearDocument> Best(const DocSet& candidates, size_t count) const;
  // Documents of `candidates` with at least this score. After the deadline: those that are known
  // to have it.
  DocSet AtLeast(const DocSet& candidates, double score) const;

  // Appends the members that tell what a document's score is made of.
  void AppendFindings(DocId docid, std::string& out) const;
  // What of the index is marked in the text of hits.
  MatchTerms TermsToMark() const;

 private:
  // Adds the documents that have one of the word's variants from `first` to `last` to lists_.
  void AddList(const QuestionWord& word, Variant first, Variant last, const DocSet* allowed);
  // Calls sink(DocId, double worth) for the candidates that can have least(), and maybe others, in
  // no order, until the deadline.
  template <typename Sink>
  void ForEachWorth(const DocSet& candidates, const std::function<double()>& least,
                    Sink&& sink) const;

  const index::Snapshot& snapshot_;
  QueryEvaluator& evaluator_;
  const Deadline deadline_;
  std::vector<Phrase> phrases_;
  bool impossible_ = false;  // the index lacks a word of a phrase
  Question question_;
  std::vector<FieldCounts> fields_;
  std::vector<BoundedList> lists_;
};

}  // namespace gannet::search
