// The words of the index that a search refers to: those of the query, and whatever synonyms, typos,
// prefixes and splits lead to. Each is looked up once and has a number.
//
// Holds, of each word, its text and its ordinal in each segment. Knows neither a query nor posting
// lists.
//
// Owner: the search (query/query_evaluator.h). Threads: one owner; any thread may call const
// functions while no word is added. Lifetime: dies before the snapshot and the scope.
// Cost: a word that was not asked for before is one look-up in the dictionary of each segment.
// Memory: its text, and 4 bytes per segment.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "index/snapshot.h"
#include "search/matching/field_scope.h"

namespace gannet::search {

inline constexpr Ordinal kNoOrdinal = ~Ordinal{0};

using WordNumber = uint32_t;  // of IndexWords
inline constexpr WordNumber kNoWord = ~WordNumber{0};

struct IndexWord {
  std::string text;
  std::vector<Ordinal> ordinals;  // by segment; kNoOrdinal where absent
  bool tolerant = true;  // no number that takes no typos: typo expansions and ngrams may use it
};

// Words that stand side by side.
struct Phrase {
  std::vector<WordNumber> words;  // kNoWord: a stop word, not checked
  // Its first word that is not a stop word; kNoWord: it has none.
  WordNumber FirstReal() const {
    const auto real =
        std::find_if(words.begin(), words.end(), [](WordNumber word) { return word != kNoWord; });
    return real == words.end() ? kNoWord : *real;
  }
};

class IndexWords {
 public:
  IndexWords(const index::Snapshot& snapshot, const FieldScope& scope)
      : snapshot_(snapshot), scope_(scope) {}

  // REQUIRES: not kNoWord. The reference is valid until a word is added.
  const IndexWord& operator[](WordNumber word) const { return words_[word]; }
  // kNoOrdinal: the segment does not have it, or it is no word.
  Ordinal OrdinalOf(WordNumber word, size_t segment) const {
    return word == kNoWord ? kNoOrdinal : words_[word].ordinals[segment];
  }
  // A word of the dictionary with live documents, or kNoWord.
  WordNumber Find(std::string_view text);
  // The phrase of given words (nullopt: a stop word); nullopt: the index lacks a word.
  std::optional<Phrase> FindPhrase(const std::vector<std::optional<std::string>>& words);
  // The number of a word with live documents whose ordinals the caller knows, by segment.
  WordNumber Add(std::string_view text, std::vector<Ordinal> ordinals);
  // Whether a live document has the word of the segment, in one of `fields` (null: any).
  bool IsLive(size_t segment, Ordinal ordinal, const segment::FieldSet* fields) const;
  // Whether words may be glued to this one: some field that takes typos has it.
  bool Tolerates(WordNumber word) const;

 private:
  WordNumber Append(std::string_view text, std::vector<Ordinal> ordinals);

  const index::Snapshot& snapshot_;
  const FieldScope& scope_;
  std::vector<IndexWord> words_;
  std::map<std::string, WordNumber, std::less<>> numbers_;
};

}  // namespace gannet::search
