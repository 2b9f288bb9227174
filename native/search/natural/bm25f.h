// BM25F (Robertson, Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond, 2009):
// how the occurrences of a word in the fields of a document become its worth.
//
// docs/behaviour/relevance.md describes the formula, and has figures on a test collection.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace gannet::search::bm25f {

inline constexpr double kSaturation = 2.0;    // k1
inline constexpr double kLengthShare = 0.75;  // b
// 1 for a question of two words, next to nothing for ten: the fewer words, the more it counts that
// all of them are found, side by side.
inline double Shortness(size_t words) {
  return words < 2 ? 0 : 4.0 / static_cast<double>(words * words);
}
// What neighbours that stand together add, as a share of the lesser of the two.
inline double Together(size_t words) { return 0.1 + Shortness(words); }
// What a field adds that has all words of a question, and no others, as a share of their worth.
inline constexpr size_t kWholeWordsMax = 10;  // of longer questions: nothing
inline double Whole(size_t words) {
  return words > kWholeWordsMax ? 0 : 2.0 / static_cast<double>(std::max<size_t>(words, 1));
}
// What is left of the worth of a document that has `share` of the worth of the words.
inline double Coverage(double share, size_t words) {
  return std::pow(std::min(share, 1.0), Shortness(words));
}
// The least sum of the worth of words with which a document can have `got`.
// all    that of all words
inline double SumFor(double got, double all, size_t words) {
  const double shortness = Shortness(words);
  return got >= all ? got : std::pow(got * std::pow(all, shortness), 1 / (1 + shortness));
}

// Neighbours farther apart than this add nothing.
inline constexpr uint32_t kTogetherMax = 8;

// What a word is worth that `found` of `all` documents hold.
inline double Rarity(double found, double all) {
  found = std::min(found, all);
  return std::log1p((all - found + 0.5) / (found + 0.5));
}

// One occurrence in a field of `words` words, where `mean` is usual.
inline double Occurrence(double weight, double words, double mean) {
  return weight / (1 - kLengthShare + kLengthShare * words / std::max(mean, 1.0));
}

// The share of its worth that a document gets for occurrences of that sum.
inline double Saturated(double occurrences) { return occurrences / (occurrences + kSaturation); }

// 1: the right word stands as far behind the left one as in the question.
// ahead    position of the right word less that of the left one, in one field; not 0
inline double Nearness(int64_t ahead, int64_t distance) {
  const int64_t off = std::abs(ahead - distance);
  return off <= int64_t{kTogetherMax} ? 1.0 / static_cast<double>(1 + off) : 0;
}

// The score of a document that has `got` of the `worth` of a question: in (0, 1], and the same
// order.
inline double Score(double got, double worth) { return std::sqrt(std::min(got / worth, 1.0)); }

// What a document gets whose score this is.
inline double WorthOfScore(double score, double worth) { return score * score * worth; }

}  // namespace gannet::search::bm25f
