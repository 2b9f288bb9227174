// Computes what a document is worth for a question from its forward record.
//
// Threads: one owner. Lifetime: dies before the question and the snapshot.
// Cost: 1 ns per word of the document, and some 10 ns per word that the question refers to.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/stop_point.h"
#include "search/natural/question.h"

namespace gannet::search {

// How much an occurrence in a field counts.
struct FieldCounts {
  double weight = 0;  // 0: not searched
  double mean = 1;    // mean number of words, over documents that have the field
};

// What one document has of one word of the question.
struct WordFinding {
  uint32_t word;  // index in Question::words
  Variant variant = Variant::kTypo;
  FieldId field = 0;  // the one that added the largest share
  double worth = 0;
};

class DocumentScorer {
 public:
  // segment    number of the segment whose documents are scored
  DocumentScorer(const index::Snapshot& snapshot, const Question& question,
                 const IndexWords& index_words, std::span<const FieldCounts> fields,
                 size_t segment);

  // The part of Question::worth that a document has. 0: it has none of the words, or is damaged.
  double Worth(std::string_view record);
  // The parts of that for the last document: by word that it had, for neighbours, and for a field
  // that has all of them.
  std::vector<WordFinding> Findings() const;
  double together() const { return together_; }
  double whole() const { return whole_; }

 private:
  // How a word of a document is used: as a word of the question, or as a character of a pair.
  enum class Part : uint8_t { kWhole, kRight, kLeft };
  struct Use {
    Ordinal ordinal;
    uint32_t word;
    Variant variant;
    Part part = Part::kWhole;
  };
  // What the current document has of a word of the question.
  struct State {
    double occurrences = 0, max = 0;  // max: the largest share of one field
    FieldId field = 0, last_field = 0;
    Variant variant = Variant::kTypo;
    uint32_t last_position = 0;
    uint32_t left_position = ~uint32_t{0} - 1;  // position of the left character in left_field
    FieldId left_field = 0;
  };

  // What one field of the current document has of a question that has few words.
  struct FieldState {
    uint32_t words = 0, pairs = 0;  // one bit each; pairs: that are adjacent
    uint32_t length = 0;
  };
  static constexpr size_t kBits = 32;
  static_assert(bm25f::kWholeWordsMax <= kBits);

  template <typename Sink>
  void ForEachUse(Ordinal ordinal, Sink&& sink) const;
  void TakeCharacter(const Use& use, FieldId field, uint32_t position, double occurrence);
  void Take(uint32_t word, Variant variant, FieldId field, uint32_t position, double occurrence);
  double WorthOf(uint32_t word) const;
  // The largest share of a field that the question makes up; 1: a field consists of it.
  double ShareOfField() const;

  const segment::TextReader& text_;
  const Question& question_;
  std::span<const FieldCounts> fields_;
  std::vector<uint64_t> wanted_;  // one bit per ordinal
  std::vector<Use> uses_;         // ascending
  struct Range {
    segment::WordRange words;
    uint32_t word;
  };
  std::vector<Range> ranges_;
  std::vector<State> states_;                 // by word
  std::vector<uint32_t> found_;               // words that the current document has
  std::vector<uint32_t> touched_;             // pairs whose left character it has
  std::vector<std::vector<uint32_t>> pairs_;  // by word: the pairs of neighbours that it is part of
  std::vector<double> nearness_;              // by pair, in the current document
  std::vector<FieldState> field_states_;      // by field; empty if the question is long
  std::vector<FieldId> fields_found_;         // in which the current document has a word
  double together_ = 0, whole_ = 0;
  StopCounter steps_;
};

}  // namespace gannet::search
