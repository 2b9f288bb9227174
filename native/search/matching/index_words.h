// The words of the index that a search refers to: the words of the query, and those reached by
// synonyms, typos, prefixes and splits. Each word is looked up once and has a number.
//
// Stores the text of each word and its ordinal in each segment. Does not know the query or posting
// lists.
//
// Owner: the search (query/query_evaluator.h). Threads: one owner; while no word is added, any
// thread may call const functions. Lifetime: must be destroyed before the snapshot and the scope.
// Cost: a new word takes one lookup in the dictionary of each segment. Memory: the text of the
// word, and 4 bytes per segment.
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

using WordNumber = uint32_t;  // index into IndexWords
inline constexpr WordNumber kNoWord = ~WordNumber{0};

struct IndexWord {
  std::string text;
  std::vector<Ordinal> ordinals;  // by segment; kNoOrdinal where absent
  // false: a number that allows no typos; typo expansions and ngrams must not use it.
  bool tolerant = true;
};

// Words that must be adjacent.
struct Phrase {
  std::vector<WordNumber> words;  // kNoWord: a stop word, not checked
  // The first word that is not a stop word, or kNoWord.
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
  // kNoOrdinal: the segment does not contain the word, or `word` is kNoWord.
  Ordinal OrdinalOf(WordNumber word, size_t segment) const {
    return word == kNoWord ? kNoOrdinal : words_[word].ordinals[segment];
  }
  // The number of a word that has live documents, or kNoWord.
  WordNumber Find(std::string_view text);
  // The phrase of the given words (nullopt: a stop word), or nullopt if the index lacks a word.
  std::optional<Phrase> FindPhrase(const std::vector<std::optional<std::string>>& words);
  // Returns the number of a word that has live documents. ordinals: its ordinals by segment.
  WordNumber Add(std::string_view text, std::vector<Ordinal> ordinals);
  // Whether a live document contains the word of the segment in one of `fields` (null: any).
  bool IsLive(size_t segment, Ordinal ordinal, const segment::FieldSet* fields) const;
  // Whether words may be concatenated to this one: some field that allows typos contains it.
  bool Tolerates(WordNumber word) const;

 private:
  WordNumber Append(std::string_view text, std::vector<Ordinal> ordinals);

  const index::Snapshot& snapshot_;
  const FieldScope& scope_;
  std::vector<IndexWord> words_;
  std::map<std::string, WordNumber, std::less<>> numbers_;
};

}  // namespace gannet::search
