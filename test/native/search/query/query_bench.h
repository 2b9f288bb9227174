// A few handwritten documents and a query that is evaluated on them part by part.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/tuning.h"
#include "index/indexed_documents.h"
#include "search/query/query_evaluator.h"

namespace gannet::search {

using DocIds = std::vector<DocId>;

inline DocIds DocIdsOf(const DocSet& documents) {
  DocIds docids;
  documents.ToVector(docids);
  return docids;
}

inline DocSet DocSetOf(const DocIds& docids) { return DocSet::FromSorted(docids); }

class QueryBench {
 public:
  static constexpr const char* kNoTypos = R"({"typoTolerance":{"enabled":false}})";

  // documents    JSON objects; their docids are their indexes
  // settings     JSON object
  explicit QueryBench(const std::vector<std::string>& documents = {},
                      const std::string& settings = kNoTypos)
      : tuned_(Tuned()), index_(settings) {
    // Words of two documents are frequent, so that lists have their distances.
    tuning_ = tuned_;
    tuning_.frequent_documents_min = 2;
    SetTuning(tuning_);
    Put(documents);
  }
  ~QueryBench() { SetTuning(tuned_); }

  // Writes another segment; its docids follow those of earlier segments.
  void Put(const std::vector<std::string>& documents) {
    std::map<DocId, std::string> batch;
    for (const std::string& document : documents) batch[next_++] = document;
    if (!batch.empty()) index_.Put(batch);
    SetQuery({});
  }
  void Delete(const DocIds& docids) {
    index_.Delete(docids);
    SetQuery({});
  }
  // Sets the size of a large bucket, from the next query on.
  void SetLargeBucketMin(uint64_t documents) {
    tuning_.large_bucket_min = documents;
    SetTuning(tuning_);
  }

  // Queries terms, which are adjacent in the query.
  void SetTerms(std::vector<Term> terms) {
    query_.reset();
    parsed_ = {};
    int32_t position = 0;
    for (Term& term : terms) {
      term.first = position;
      position += static_cast<int32_t>(term.words.size());
      term.last = position - 1;
      parsed_.terms.push_back(std::move(term));
    }
    snapshot_ = index_.snapshot();
    query_ = std::make_unique<QueryEvaluator>(*snapshot_, scope_, parsed_);
  }
  // Queries words. prefix: the last one is a prefix.
  void SetQuery(const std::vector<std::string>& words, bool prefix = false) {
    std::vector<Term> terms;
    for (const std::string& word : words) terms.push_back({.words = {word}});
    if (prefix) terms.back().prefix = true;
    SetTerms(std::move(terms));
  }
  // Queries one phrase.
  void SetPhrase(const std::vector<std::string>& words) {
    Term term;
    term.phrase = term.mandatory = true;
    for (const std::string& word : words) term.words.emplace_back(word);
    SetTerms({std::move(term)});
  }

  // Options of the next query.
  FieldScope& scope() { return scope_; }
  segment::FieldSet Fields(const std::vector<std::string>& names) const {
    segment::FieldSet fields;
    for (const std::string& name : names) fields.Add(*snapshot_->fields->Find(name));
    return fields;
  }

  const index::Snapshot& snapshot() const { return *snapshot_; }
  QueryEvaluator& query() { return *query_; }
  IndexWords& words() { return query_->words; }
  const Postings& postings() { return query_->postings; }
  PhraseMatcher& phrases() { return query_->phrases; }
  const Graph& graph() { return query_->graph; }
  TermExpansion& expansion() { return query_->expansion; }
  NodeDocuments& documents() { return query_->documents; }

  WordNumber Word(const std::string& text) {
    const WordNumber word = words().Find(text);
    EXPECT_NE(word, kNoWord) << text;
    return word;
  }
  // An empty text stands for a stop word.
  Phrase PhraseOf(const std::vector<std::string>& texts) {
    Phrase phrase;
    for (const std::string& text : texts)
      phrase.words.push_back(text.empty() ? kNoWord : Word(text));
    return phrase;
  }
  // The texts of the words of a class, in order.
  std::vector<std::string> Texts(const std::vector<WordNumber>& numbers) {
    std::vector<std::string> texts;
    for (const WordNumber word : numbers)
      texts.push_back(word == kNoWord ? "" : words()[word].text);
    return texts;
  }
  // The number of the node with that text.
  NodeNumber NodeOf(const std::string& text) {
    for (NodeNumber n = 0; n < graph().nodes().size(); ++n) {
      if (graph()[n].text == text) return n;
    }
    ADD_FAILURE() << "no node " << text;
    return 0;
  }

 private:
  Tuning tuned_, tuning_;
  IndexedDocuments index_;
  DocId next_ = 0;
  std::shared_ptr<const index::Snapshot> snapshot_;
  FieldScope scope_;
  ParsedQuery parsed_;
  std::unique_ptr<QueryEvaluator> query_;
};

}  // namespace gannet::search
