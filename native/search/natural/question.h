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
  uint32_t pairs = 0;  // number of pairs of neighbours in which it has the lower worth
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
  // The most that the word adds to a document whose best variant is this one, together with the
  // neighbours of QuestionWord::pairs; without what AllWords bounds.
  double Bound(const QuestionWord& word, Variant variant) const {
    const double pairs = words.size() == 2 ? 0 : word.pairs;
    return word.worth[static_cast<size_t>(variant)] * (1 + bm25f::Together(words.size()) * pairs);
  }
  // The most that a document with all words gets, if the sum of Bound over them is `sum`.
  double AllWords(double sum) const {
    const double pair = words.size() == 2 && !neighbours.empty()
                            ? WorthTogether(words[0].worth[0], words[1].worth[0]) *
                                  static_cast<double>(neighbours.size())
                            : 0;
    return sum + pair + bm25f::Whole(words.size()) * std::min(sum, words_worth);
  }
};

// Looks up the variants of the words of `query`.
// languages    the languages whose stems count
Question QuestionOf(const ParsedQuery& query, QueryEvaluator& evaluator,
                    std::span<const text::Locale> languages);

}  // namespace gannet::search
