// A question: the words of the index that match each of its words, and what each word is worth
// (docs/behaviour/relevance.md).
//
// Threads: immutable once made. Lifetime: dies before the evaluator it was made with.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "search/natural/bm25f.h"
#include "search/query/query_evaluator.h"
#include "segment/word_ranges.h"

namespace gannet::search {

// How a word of a document matches a word of the question, the best way first.
enum class Variant : uint8_t { kExact, kStem, kSynonym, kPrefix, kTypo };
inline constexpr size_t kVariants = 5;

struct QuestionWord {
  std::string text;
  uint32_t times = 0;  // number of occurrences in the question
  // The words of the index that match, each once, with its best variant; and by segment those that
  // match by stem.
  std::vector<std::pair<WordNumber, Variant>> words;
  std::vector<std::vector<Ordinal>> stems;
  // Two adjacent characters of a script without spaces; set instead of the other members. Without
  // words: the index lacks one of them.
  std::optional<Phrase> characters;
  // The words that begin with it, by segment. Empty: none.
  std::vector<segment::WordRange> prefixes;
  // By variant: the most that a document gets whose best variant is this one. Never ascends.
  std::array<double, kVariants> worth{};
};

// Two consecutive words of the question.
struct Neighbours {
  uint32_t left, right;  // indexes in Question::words
  int32_t distance;      // between their positions
};

struct Question {
  std::vector<QuestionWord> words;
  std::vector<Neighbours> neighbours;
  double worth = 0;        // upper bound for any document
  double words_worth = 0;  // the part of `worth` for its words
  uint32_t length = 0;     // number of words, repeated ones included
  WordsBySegment all;      // the words of the index that match any of its words

  // The most that two neighbours add, given the worth of each.
  double WorthTogether(double left, double right) const {
    return bm25f::Together(words.size()) * std::min(left, right);
  }
};

// The words of one segment that match the word in any variant; none for pairs of characters.
// cost  some ns for each word that does not match by prefix
std::vector<segment::WordRange> RangesOf(const QuestionWord& word, const IndexWords& words,
                                         size_t segment);

// Looks up the variants of the words of `query`.
// languages    the languages whose stems count
Question QuestionOf(const ParsedQuery& query, QueryEvaluator& evaluator,
                    std::span<const text::Locale> languages);

}  // namespace gannet::search
