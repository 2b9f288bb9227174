// What a document is worth for a question, told from its forward record.
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

// What fields count, by field.
struct FieldCounts {
  double weight = 0;  // 0: not searched
  double mean = 1;    // words of a document that has the field
};

// Of one word of the question in one document.
struct WordFinding {
  uint32_t word;  // of Question::words
  Variant variant = Variant::kTypo;
  FieldId field = 0;  // the one that added most
  double worth = 0;
};

class DocumentScorer {
 public:
  // segment    number of the segment whose documents are scored
  DocumentScorer(const index::Snapshot& snapshot, const Question& question,
                 const IndexWords& index_words, std::span<const FieldCounts> fields,
                 size_t segment);

  // What a document gets of Question::worth; 0: it has none of the words, or is damaged.
  double Worth(std::string_view record);
  // The same of each word that the last document had, what its neighbours added, and what a field
  // with all of them added.
  std::vector<WordFinding> Findings() const;
  double together() const { return together_; }
  double whole() const { return whole_; }

 private:
  // What a word of a document is of one of the question: itself, or a character of a pair.
  enum class Part : uint8_t { kWhole, kRight, kLeft };
  struct Use {
    Ordinal ordinal;
    uint32_t word;
    Variant variant;
    Part part = Part::kWhole;
  };
  // What the document at hand has of a word.
  struct State {
    double occurrences = 0, most = 0;  // most: that one field added
    FieldId field = 0, last_field = 0;
    Variant variant = Variant::kTypo;
    uint32_t last_position = 0;
    uint32_t left_position = ~uint32_t{0} - 1;  // of the left character, in left_field
    FieldId left_field = 0;
  };

  // What one field of the document at hand has of a question that has few words.
  struct FieldState {
    uint32_t words = 0, pairs = 0;  // a bit each; pairs: side by side
    uint32_t length = 0;
  };
  static constexpr size_t kBits = 32;
  static_assert(bm25f::kWholeWordsMax <= kBits);

  template <typename Sink>
  void ForEachUse(Ordinal ordinal, Sink&& sink) const;
  void TakeCharacter(const Use& use, FieldId field, uint32_t position, double occurrence);
  void Take(uint32_t word, Variant variant, FieldId field, uint32_t position, double occurrence);
  double WorthOf(uint32_t word) const;
  // How much of a field the question is, of the field of which it is most: 1 is all of it.
  double ShareOfField() const;

  const segment::TextReader& text_;
  const Question& question_;
  std::span<const FieldCounts> fields_;
  std::vector<uint64_t> wanted_;  // a bit per ordinal
  std::vector<Use> uses_;         // ascending
  struct Range {
    segment::WordRange words;
    uint32_t word;
  };
  std::vector<Range> ranges_;
  std::vector<State> states_;                 // by word
  std::vector<uint32_t> found_;               // words of the document at hand
  std::vector<uint32_t> touched_;             // pairs of which it has the left character
  std::vector<std::vector<uint32_t>> pairs_;  // by word: the neighbours it is one of
  std::vector<double> nearness_;              // of each pair, in the document at hand
  std::vector<FieldState> field_states_;      // by field; empty if the question is long
  double together_ = 0, whole_ = 0;
  StopCounter steps_;
};

}  // namespace gannet::search
