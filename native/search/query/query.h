// Parses the text of a query into terms, phrases and negatives (docs/behaviour/query-analysis.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "index/settings.h"
#include "text/analyzer.h"

namespace gannet::search {

// Terms of a query, and tokens of its text that are looked at.
inline constexpr size_t kTermsMax = 10, kQueryTokensMax = 1000;
// The same for a question (MatchingStrategy::kNatural).
inline constexpr size_t kQuestionTermsMax = 512, kQuestionTokensMax = 4096;
inline constexpr size_t kQueryBytesMax = 64 << 10;  // bytes after these are ignored

using index::MatchingStrategy;

// One word, or several words that must be adjacent.
struct Term {
  std::vector<std::optional<std::string>> words;  // nullopt: a stop word inside a phrase
  bool phrase = false;
  bool mandatory = false;  // a phrase in quotation marks; never dropped
  uint32_t counted = 0;    // number of words that a mandatory phrase counts as, without stop words
  bool prefix = false;
  int32_t first = 0, last = 0;  // query positions of the first and the last word
};

struct ParsedQuery {
  std::vector<Term> terms;
  std::vector<std::string> negative_words;
  std::vector<std::vector<std::optional<std::string>>> negative_phrases;
};

// word_starts: byte offsets in `text` at which words begin, in scripts written without spaces. Each
// such word of several characters becomes a phrase that may be dropped like a word.
ParsedQuery ParseQuery(std::string_view text, const text::Analyzer& analyzer,
                       std::span<const text::Locale> locales, std::span<const uint32_t> word_starts,
                       bool prefix_search, MatchingStrategy strategy = MatchingStrategy::kLast);

}  // namespace gannet::search
