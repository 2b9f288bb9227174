// Random words for dictionary tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "fst/builder.h"
#include "test_seed.h"

namespace gannet::fst {

using Alphabet = std::vector<std::string>;

inline const Alphabet kTwoLetters = {"a", "b"};
inline const Alphabet kMixed = {"a", "b", "c", "é", "ê", "д", "語", "誤", "😀", "😁"};

inline std::string RandomWord(std::mt19937_64& random, const Alphabet& alphabet, size_t chars_max) {
  std::string word;
  for (size_t chars = random() % (chars_max + 1); chars > 0; --chars) {
    word += alphabet[random() % alphabet.size()];
  }
  return word;
}

inline void SortDistinct(std::vector<std::string>& words) {
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
}

inline std::vector<std::string> RandomWords(std::mt19937_64& random, const Alphabet& alphabet,
                                            size_t count, size_t chars_max) {
  std::vector<std::string> words;
  for (size_t i = 0; i < count; ++i) words.push_back(RandomWord(random, alphabet, chars_max));
  SortDistinct(words);
  return words;
}

// All words of at most chars_max characters, sorted.
inline std::vector<std::string> AllWords(const Alphabet& alphabet, size_t chars_max) {
  std::vector<std::string> words{""};
  for (size_t begin = 0, chars = 0; chars < chars_max; ++chars) {
    const size_t end = words.size();
    for (; begin < end; ++begin) {
      for (const std::string& letter : alphabet) words.push_back(words[begin] + letter);
    }
  }
  SortDistinct(words);
  return words;
}

// REQUIRES: words sorted and distinct.
inline std::string Store(const std::vector<std::string>& words) {
  Builder builder;
  for (const std::string& word : words) builder.Add(word);
  return builder.Finish();
}

}  // namespace gannet::fst
