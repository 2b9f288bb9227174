// BM25F (Robertson, Zaragoza: The Probabilistic Relevance Framework: BM25 and Beyond, 2009):
// computes what a word is worth in a document from its occurrences in the fields.
//
// docs/behaviour/relevance.md describes the formula, and has figures on a test collection.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace gannet::search::bm25f {

inline constexpr double kSaturation = 2.0;    // k1
inline constexpr double kLengthShare = 0.75;  // b
// 1 for a question of two words, almost 0 for ten: the fewer words a question has, the more it
// counts that a document has all of them, next to each other.
inline double Shortness(size_t words) {
  return words < 2 ? 0 : 4.0 / static_cast<double>(words * words);
}
// What two adjacent neighbours add, as a share of the lower worth of the two.
inline double Together(size_t words) { return 0.1 + Shortness(words); }
// What a field adds that consists of exactly the words of a question, as a share of their worth.
inline constexpr size_t kWholeWordsMax = 10;  // longer questions: it adds nothing
inline double Whole(size_t words) {
  return words > kWholeWordsMax ? 0 : 2.0 / static_cast<double>(std::max<size_t>(words, 1));
}
// The factor for the worth of a document that has `share` of the worth of the words.
inline double Coverage(double share, size_t words) {
  return std::pow(std::min(share, 1.0), Shortness(words));
}

// Neighbours farther apart than this add nothing.
inline constexpr uint32_t kTogetherMax = 8;

// The worth of a word that `found` of `all` documents contain.
inline double Rarity(double found, double all) {
  found = std::min(found, all);
  return std::log1p((all - found + 0.5) / (found + 0.5));
}

// What one occurrence counts in a field of `words` words, if the mean length is `mean`.
inline double Occurrence(double weight, double words, double mean) {
  return weight / (1 - kLengthShare + kLengthShare * words / std::max(mean, 1.0));
}

// The share of the worth of a word that a document gets for this sum of occurrences.
inline double Saturated(double occurrences) { return occurrences / (occurrences + kSaturation); }

// 1: the right word follows the left one at the same distance as in the question.
// ahead    position of the right word minus that of the left one, in one field; not 0
inline double Nearness(int64_t ahead, int64_t distance) {
  const int64_t off = std::abs(ahead - distance);
  return off <= int64_t{kTogetherMax} ? 1.0 / static_cast<double>(1 + off) : 0;
}

// The score of a document that has `got` of the `worth` of a question. In (0, 1]; grows with `got`.
inline double Score(double got, double worth) { return std::sqrt(std::min(got / worth, 1.0)); }

// The inverse: what a document with this score has got.
inline double WorthOfScore(double score, double worth) { return score * score * worth; }

}  // namespace gannet::search::bm25f
