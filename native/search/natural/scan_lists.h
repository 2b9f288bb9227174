// The lists of documents that a question is looked for in, in one segment, with what each document
// can get for a word (block_scan.h).
//
// Threads: one owner. Lifetime: dies before the question, the evaluator and the snapshot.
#pragma once

#include <array>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bitmap/postings_codec.h"
#include "search/natural/block_scan.h"
#include "search/natural/document_scorer.h"
#include "search/natural/question.h"
#include "segment/occurrences.h"

namespace gannet::search {

class ScanLists {
 public:
  // characters    by word: the documents of QuestionWord::characters; borrowed
  ScanLists(const Question& question, const QueryEvaluator& evaluator,
            std::span<const FieldCounts> fields, const ScoreBound& bound,
            std::span<const DocSet> characters, size_t segment);
  ScanLists(const ScanLists&) = delete;
  ScanLists& operator=(const ScanLists&) = delete;

  std::span<const ScanList> lists() const { return lists_; }
  std::span<const float> word_max() const { return word_max_; }
  const uint8_t* LengthCodes(FieldId field, uint32_t key) const {
    return occurrences_->LengthCodes(field, key);
  }

 private:
  using Table = std::array<float, segment::Occurrences::kLengthCodes>;

  // How many lists AddBounded would make for these words at most.
  uint64_t ListsFor(std::span<const segment::WordRange> ranges) const;
  // Adds the documents that have `word`, and bounds of what each gets for it.
  void AddBounded(uint32_t number, Ordinal word);
  void AddRepeats(uint32_t number, FieldId field, Ordinal word);
  void AddConstant(uint32_t number, const DocSet& documents);
  // What one occurrence in the field counts, by code of its length.
  const Table& OccurrenceIn(FieldId field);
  // What one occurrence in the field adds for the word.
  const Table& AddedIn(FieldId field, uint32_t number);

  const Question& question_;
  std::span<const FieldCounts> fields_;
  const ScoreBound& bound_;
  const segment::TextReader& text_;
  const std::shared_ptr<const segment::Occurrences> occurrences_;
  std::vector<ScanList> lists_;
  std::vector<float> word_worth_;  // by word: that of its best variant
  std::vector<float> word_max_;
  std::map<FieldId, Table> occurrence_in_;
  std::map<std::pair<FieldId, uint32_t>, Table> added_in_;
  // What the lists borrow.
  std::deque<PostingsReader> postings_;
  std::deque<DocSet> sets_;
};

}  // namespace gannet::search
