#include "fst/levenshtein.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "base/utf8.h"
#include "fst/fst.h"
#include "fst/words.h"

namespace gannet::fst {
namespace {

std::vector<char32_t> Chars(std::string_view text) {
  std::vector<char32_t> chars;
  for (size_t at = 0; at < text.size();) chars.push_back(DecodeUtf8(text, at));
  return chars;
}

// The textbook matrix of optimal string alignment, read one character of the word at a time. With
// `prefix` the word is accepted at the first point where the distance to the query is at most
// `limit` and no prefix of the query is nearer.
int NaiveDistance(std::string_view query_text, std::string_view word_text, bool prefix, int limit) {
  const auto query = Chars(query_text), word = Chars(word_text);
  const size_t n = query.size();
  std::vector<std::vector<int>> d(word.size() + 1, std::vector<int>(n + 1));
  for (size_t j = 0; j <= word.size(); ++j) {
    for (size_t i = 0; i <= n; ++i) {
      if (i == 0 || j == 0) {
        d[j][i] = static_cast<int>(i + j);
        continue;
      }
      d[j][i] = std::min(
          {d[j - 1][i] + 1, d[j][i - 1] + 1, d[j - 1][i - 1] + (query[i - 1] != word[j - 1])});
      if (i > 1 && j > 1 && query[i - 1] == word[j - 2] && query[i - 2] == word[j - 1]) {
        d[j][i] = std::min(d[j][i], d[j - 2][i - 2] + 1);
      }
    }
    if (prefix && j > 0 && d[j][n] <= limit &&
        d[j][n] == *std::min_element(d[j].begin(), d[j].end()))
      return d[j][n];
  }
  return d.back().back();
}

bool Wanted(std::string_view query, std::string_view word, int distance, int distance_max,
            FirstChar first) {
  if (distance > distance_max) return false;
  if (first == FirstChar::kAny || query.empty()) return true;
  const bool same = !word.empty() && Chars(query)[0] == Chars(word)[0];
  return same || (first == FirstChar::kSameFirstOrOne && distance <= 1);
}

using Match = std::tuple<std::string, uint32_t, int>;

// Compares the walk with one matrix per word. REQUIRES: words sorted and distinct.
void CheckQuery(const Fst& fst, const std::vector<std::string>& words, const std::string& query) {
  for (const bool prefix : {false, true}) {
    for (int distance_max = 0; distance_max <= 2; ++distance_max) {
      for (const FirstChar first :
           {FirstChar::kAny, FirstChar::kSameFirst, FirstChar::kSameFirstOrOne}) {
        std::vector<Match> expected, actual;
        for (size_t i = 0; i < words.size(); ++i) {
          const bool same =
              !query.empty() && !words[i].empty() && Chars(query)[0] == Chars(words[i])[0];
          const int limit = first == FirstChar::kSameFirstOrOne && !same && !query.empty()
                                ? std::min(distance_max, 1)
                                : distance_max;
          const int distance = NaiveDistance(query, words[i], prefix, limit);
          if (Wanted(query, words[i], distance, distance_max, first)) {
            expected.push_back({words[i], static_cast<uint32_t>(i), distance});
          }
        }
        Walk(fst, FuzzyQuery(query, distance_max, prefix, first),
             [&](std::string_view word, uint32_t ordinal, uint8_t distance) {
               actual.push_back({std::string(word), ordinal, distance});
               return true;
             });
        ASSERT_EQ(actual, expected) << "query " << query << " distance_max " << distance_max
                                    << " prefix " << prefix << " first " << static_cast<int>(first);
      }
    }
  }
}

TEST(Levenshtein, AgreesWithTheMatrixOnAllWordsOfTwoLettersUpToSix) {
  const auto words = AllWords(kTwoLetters, 6);
  const std::string stored = Store(words);
  const auto fst = Fst::Open(stored);
  ASSERT_TRUE(fst.ok());
  for (const std::string& query : words) {
    CheckQuery(*fst, words, query);
    if (HasFatalFailure()) return;
  }
}

TEST(Levenshtein, AgreesWithTheMatrixOnRandomWordsOfAllWidthsOfCharacters) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 20; ++round) {
    const Alphabet alphabet(kMixed.begin() + (round % 2 ? 0 : 3), kMixed.end());
    const auto words = RandomWords(random, alphabet, 400, 1 + random() % 8);
    const std::string stored = Store(words);
    const auto fst = Fst::Open(stored);
    ASSERT_TRUE(fst.ok());
    for (int i = 0; i < 8; ++i) {
      CheckQuery(*fst, words,
                 i % 2 ? RandomWord(random, alphabet, 8) : words[random() % words.size()]);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(Levenshtein, HandlesWordsLongerThanSixtyFourCharacters) {
  std::mt19937_64 random(TestSeed());
  for (const size_t length : {55, 58, 59, 60, 61, 64, 70, 130, 240}) {
    std::string query;
    while (query.size() < length) query += RandomWord(random, {"a", "b", "é"}, 1);
    std::vector<std::string> words{query, query.substr(0, length / 2)};
    for (int i = 0; i < 60; ++i) {
      std::string word = query;
      for (size_t edits = random() % 4; edits > 0; --edits) {
        const size_t at = random() % (word.size() - 1);
        if (static_cast<uint8_t>(word[at]) >= 128 || static_cast<uint8_t>(word[at + 1]) >= 128)
          continue;
        switch (random() % 4) {
          case 0: word[at] = 'c'; break;
          case 1: word.erase(at, 1); break;
          case 2: word.insert(at, "b"); break;
          case 3: std::swap(word[at], word[at + 1]); break;
        }
      }
      words.push_back(word);
      words.push_back(word + "bbb");
    }
    SortDistinct(words);
    const std::string stored = Store(words);
    const auto fst = Fst::Open(stored);
    ASSERT_TRUE(fst.ok());
    CheckQuery(*fst, words, query);
    if (HasFatalFailure()) return;
  }
}

TEST(Levenshtein, ExamplesReadAsExpected) {
  const std::vector<std::string> words = {"école", "ecole", "hello", "helol", "help", "yello"};
  std::vector<std::string> sorted = words;
  SortDistinct(sorted);
  const std::string stored = Store(sorted);
  const auto fst = Fst::Open(stored);
  ASSERT_TRUE(fst.ok());
  const auto find = [&](const char* query, int distance_max, bool prefix, FirstChar first) {
    std::map<std::string, int> found;
    Walk(*fst, FuzzyQuery(query, distance_max, prefix, first),
         [&](std::string_view word, uint32_t, uint8_t distance) {
           found[std::string(word)] = distance;
           return true;
         });
    return found;
  };
  using Found = std::map<std::string, int>;
  EXPECT_EQ(find("hello", 1, false, FirstChar::kAny),
            (Found{{"hello", 0}, {"helol", 1}, {"yello", 1}}));
  EXPECT_EQ(find("hello", 1, false, FirstChar::kSameFirst), (Found{{"hello", 0}, {"helol", 1}}));
  EXPECT_EQ(find("ecole", 1, false, FirstChar::kAny), (Found{{"ecole", 0}, {"école", 1}}));
  EXPECT_EQ(find("hellp", 2, false, FirstChar::kSameFirstOrOne),
            (Found{{"hello", 1}, {"helol", 2}, {"help", 1}}));
  EXPECT_EQ(find("hel", 1, true, FirstChar::kAny),
            (Found{{"hello", 0}, {"helol", 0}, {"help", 0}, {"yello", 1}}));
}

TEST(Levenshtein, TheSinkMayStopTheWalk) {
  const auto words = AllWords(kTwoLetters, 4);
  const std::string stored = Store(words);
  const auto fst = Fst::Open(stored);
  ASSERT_TRUE(fst.ok());
  int count = 0;
  Walk(*fst, FuzzyQuery("ab", 2, true),
       [&](std::string_view, uint32_t, uint8_t) { return ++count < 3; });
  EXPECT_EQ(count, 3);
}

TEST(Levenshtein, AnEmptyDictionaryHasNoMatches) {
  EXPECT_FALSE(FuzzyStream(Fst(), FuzzyQuery("a", 2, true)).Valid());
  const std::string stored = Store({});
  const auto fst = Fst::Open(stored);
  ASSERT_TRUE(fst.ok());
  EXPECT_FALSE(FuzzyStream(*fst, FuzzyQuery("", 2, true)).Valid());
}

}  // namespace
}  // namespace gannet::fst
