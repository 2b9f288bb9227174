// Bounds what a document can get for a question, from the words that it may have.
//
// The first words of the question have a bit each in a mask. So neighbours count only for documents
// that have both words, and a short question knows how much of it a document covers.
//
// Threads: immutable.
// Memory: 4 KiB, for questions of at most bm25f::kWholeWordsMax words up to 16 KiB.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "search/natural/question.h"

namespace gannet::search {

class ScoreBound {
 public:
  explicit ScoreBound(const Question& question);

  static constexpr uint32_t kMaskWords = 32;
  static uint32_t MaskOf(uint32_t word) { return word < kMaskWords ? uint32_t{1} << word : 0; }

  // The most that a document gets which has no other words of the first kMaskWords than these.
  // sum    at least the sum over its words of worth and share, and of WordExtra
  double Got(double sum, uint32_t mask) const {
    if (!factors_.empty()) return (sum + added_[mask]) * factors_[mask];
    const uint32_t pairs = mask & mask >> 1;
    return sum + (pairs_[0][pairs & 255] + pairs_[1][pairs >> 8 & 255]) +
           (pairs_[2][pairs >> 16 & 255] + pairs_[3][pairs >> 24]);
  }
  // What neighbours may add to a document that has the word: those that Got does not count.
  double WordExtra(uint32_t word) const { return extra_[word]; }

 private:
  // By mask, of a short question: what neighbours and a whole field add, and the coverage.
  std::vector<double> added_, factors_;
  // What neighbours add in a longer question, by bytes of a mask whose bit i stands for the words i
  // and i + 1.
  std::array<std::array<float, 256>, kMaskWords / 8> pairs_{};
  std::vector<double> extra_;  // by word
};

}  // namespace gannet::search
