#include "search/natural/score_bound.h"

#include <algorithm>
#include <bit>

#include "search/natural/bm25f.h"

namespace gannet::search {

ScoreBound::ScoreBound(const Question& question) : extra_(question.words.size()) {
  const size_t count = question.words.size();
  const auto worth = [&](uint32_t word) { return question.words[word].worth[0]; };
  const bool is_short = count <= bm25f::kWholeWordsMax;
  static_assert(bm25f::kWholeWordsMax < kMaskWords);
  std::array<double, kMaskWords> together{};  // by the first word of a pair
  for (const Neighbours& pair : question.neighbours) {
    const double value = question.WorthTogether(worth(pair.left), worth(pair.right));
    const uint32_t first = std::min(pair.left, pair.right), last = std::max(pair.left, pair.right);
    if (!is_short && last < kMaskWords && last == first + 1) together[first] += value;
    if (!is_short && (last >= kMaskWords || last != first + 1))
      extra_[worth(pair.left) < worth(pair.right) ? pair.left : pair.right] += value;
  }
  if (!is_short) {
    for (size_t byte = 0; byte < pairs_.size(); ++byte) {
      for (uint32_t bits = 1; bits < 256; ++bits) {
        const auto lowest = static_cast<size_t>(std::countr_zero(bits));
        pairs_[byte][bits] =
            pairs_[byte][bits & (bits - 1)] + static_cast<float>(together[byte * 8 + lowest]);
      }
    }
    return;
  }
  const uint32_t all = (uint32_t{1} << count) - 1;
  for (uint32_t mask = 0; mask <= all; ++mask) {
    double covered = 0, added = 0;
    for (uint32_t word = 0; word < count; ++word) {
      if ((mask >> word & 1) != 0) covered += worth(word);
    }
    for (const Neighbours& pair : question.neighbours) {
      if ((mask >> pair.left & mask >> pair.right & 1) != 0)
        added += question.WorthTogether(worth(pair.left), worth(pair.right));
    }
    if (mask == all) added += bm25f::Whole(count) * question.words_worth;
    added_.push_back(added);
    factors_.push_back(
        question.words_worth > 0 ? bm25f::Coverage(covered / question.words_worth, count) : 1);
  }
}

}  // namespace gannet::search
