// A question: what of the index stands for each of its words, and what each is worth
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

// How a word of a document stands for one of the question. Better ones first.
enum class Variant : uint8_t { kExact, kStem, kSynonym, kPrefix, kTypo };
inline constexpr size_t kVariants = 5;

struct QuestionWord {
  std::string text;
  uint32_t times = 0;  // that it is in the question
  // Words of the index, each once, with the best variant that it is of; and words of segments of
  // kStem.
  std::vector<std::pair<WordNumber, Variant>> words;
  std::vector<std::vector<Ordinal>> stems;
  // Two characters of a script without spaces, which stand side by side: instead of all others.
  // Without words: the index lacks one.
  std::optional<Phrase> characters;
  // Of kPrefix: words that begin with it, by segment. Empty: none.
  std::vector<segment::WordRange> prefixes;
  // What a document gets at most whose best variant is this one. Never grows with the variant.
  std::array<double, kVariants> worth{};
  uint32_t pairs = 0;  // of neighbours, of which it is the one that is worth less
};

// Two words that follow each other in the question.
struct Neighbours {
  uint32_t left, right;  // numbers of Question::words
  int32_t distance;      // of their positions
};

struct Question {
  std::vector<QuestionWord> words;
  std::vector<Neighbours> neighbours;
  double worth = 0;        // what no document exceeds
  double words_worth = 0;  // of that, what its words are worth
  uint32_t length = 0;     // number of words, those that repeat included
  WordsBySegment all;      // the words of the index that stand for any of its words

  // What two neighbours add at most, given what they are worth.
  double WorthTogether(double left, double right) const {
    return bm25f::Together(words.size()) * std::min(left, right);
  }
  // What the word adds to a document at most whose best variant is this one, with the neighbours of
  // QuestionWord::pairs, and as a part of a field that has all words.
  double Bound(const QuestionWord& word, Variant variant) const {
    return word.worth[static_cast<size_t>(variant)] *
           (1 + bm25f::Together(words.size()) * word.pairs + bm25f::Whole(words.size()));
  }
};

// Looks up the variants of the words of `query`.
// languages    whose stems count
Question QuestionOf(const ParsedQuery& query, QueryEvaluator& evaluator,
                    std::span<const text::Locale> languages);

}  // namespace gannet::search
