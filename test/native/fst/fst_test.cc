#include "fst/fst.h"

#include <gtest/gtest.h>

#include "fst/builder.h"
#include "fst/levenshtein.h"
#include "fst/words.h"

namespace gannet::fst {
namespace {

using Words = std::vector<std::string>;

Alphabet AllBytes() {
  Alphabet bytes;
  for (int byte = 0; byte < 256; ++byte) bytes.push_back(std::string(1, static_cast<char>(byte)));
  return bytes;
}

std::pair<uint32_t, uint32_t> NaivePrefixRange(const Words& words, const std::string& prefix) {
  const auto begin = std::lower_bound(words.begin(), words.end(), prefix);
  auto end = begin;
  while (end != words.end() && end->compare(0, prefix.size(), prefix) == 0) ++end;
  if (begin == end) return {0, 0};
  return {begin - words.begin(), end - words.begin()};
}

// Compares the stored dictionary with the sorted vector it was made from. probes: further words to
// look up; step: look up every step-th word.
void CheckAgainst(const Words& words, const Words& probes, size_t step) {
  const std::string stored = Store(words);
  const Result<Fst> opened = Fst::Open(stored);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const Fst& fst = *opened;
  ASSERT_TRUE(fst.Verify().ok()) << fst.Verify().message();
  ASSERT_EQ(fst.size(), words.size());

  size_t at = 0;
  for (auto it = fst.Begin(); it.Valid(); it.Next(), ++at) {
    ASSERT_LT(at, words.size());
    ASSERT_EQ(it.word(), words[at]);
    ASSERT_EQ(it.ordinal(), at);
  }
  ASSERT_EQ(at, words.size());

  Words lookups = probes;
  for (size_t i = 0; i < words.size(); i += step) {
    lookups.push_back(words[i]);
    lookups.push_back(words[i].substr(0, words[i].size() / 2));
    lookups.push_back(words[i] + "b");
    ASSERT_EQ(fst.Word(static_cast<uint32_t>(i)), words[i]);
    auto it = fst.SeekOrdinal(static_cast<uint32_t>(i));
    for (size_t next = i; next < std::min(i + 3, words.size()); ++next, it.Next()) {
      ASSERT_TRUE(it.Valid());
      ASSERT_EQ(it.word(), words[next]);
      ASSERT_EQ(it.ordinal(), next);
    }
  }
  EXPECT_FALSE(fst.SeekOrdinal(fst.size()).Valid());
  for (const std::string& word : lookups) {
    const auto lower = std::lower_bound(words.begin(), words.end(), word);
    const auto ordinal = static_cast<uint32_t>(lower - words.begin());
    const std::optional<uint32_t> found = fst.Find(word);
    ASSERT_EQ(found.has_value(), lower != words.end() && *lower == word) << word;
    if (found) {
      ASSERT_EQ(*found, ordinal) << word;
    }
    ASSERT_EQ(fst.PrefixRange(word), NaivePrefixRange(words, word)) << word;
    auto it = fst.Seek(word);
    for (auto next = lower;
         next != std::min(words.end(), lower + std::min<ptrdiff_t>(3, words.end() - lower));
         ++next) {
      ASSERT_TRUE(it.Valid()) << word;
      ASSERT_EQ(it.word(), *next);
      ASSERT_EQ(it.ordinal(), next - words.begin());
      it.Next();
    }
    if (lower == words.end()) {
      ASSERT_FALSE(it.Valid()) << word;
    }
  }
}

TEST(Fst, SmallDictionariesAreRight) {
  const Words probes = {"", "a", "b", "ab", "z", std::string(1, '\0'), "\xff"};
  const struct {
    const char* name;
    Words words;
  } cases[] = {
      {"nothing", {}},
      {"only the empty word", {""}},
      {"one word", {"a"}},
      {"empty word and another", {"", "a"}},
      {"a word and its prefixes", {"", "a", "ab", "abc"}},
      {"shared suffixes", {"bar", "bars", "car", "cars", "far"}},
      {"lowest and highest bytes",
       {std::string(1, '\0'), std::string(2, '\0'), "\xff", "\xff\xff"}},
      {"the longest word", {std::string(kWordBytesMax, 'x')}},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    CheckAgainst(test.words, probes, 1);
  }
}

TEST(Fst, AgreesWithASortedVectorOnRandomWords) {
  std::mt19937_64 random(TestSeed());
  const Alphabet bytes = AllBytes();
  for (const Alphabet* alphabet : {&kTwoLetters, &kMixed, &bytes}) {
    for (const size_t count : {3, 30, 300, 3000}) {
      for (const size_t chars_max : {2, 5, 12, 40}) {
        CheckAgainst(RandomWords(random, *alphabet, count, chars_max),
                     RandomWords(random, *alphabet, 50, chars_max), 1 + count / 100);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Fst, AgreesWithASortedVectorOnTwoHundredThousandWords) {
  std::mt19937_64 random(TestSeed());
  CheckAgainst(RandomWords(random, kMixed, 200'000, 9), RandomWords(random, kMixed, 500, 9), 97);
}

TEST(Fst, EqualSuffixesAreStoredOnce) {
  // 64 stems with the same 64 endings: a trie has 4096 leaves, the minimal automaton two fans.
  Words words;
  for (int a = 0; a < 64; ++a) {
    for (int b = 0; b < 64; ++b) {
      words.push_back({static_cast<char>('0' + a), 'x', static_cast<char>('0' + b), 'y'});
    }
  }
  SortDistinct(words);
  EXPECT_LT(Store(words).size(), 600u);
}

TEST(Fst, BuilderIsEmptyAgainAfterFinish) {
  Builder builder;
  builder.Add("b");
  EXPECT_EQ(builder.count(), 1u);
  const std::string first = builder.Finish();
  EXPECT_EQ(builder.count(), 0u);
  builder.Add("b");
  EXPECT_EQ(builder.Finish(), first);
}

TEST(Fst, OpenRefusesBytesThatAreNoDictionary) {
  const std::string stored = Store({"a", "b"});
  EXPECT_EQ(Fst::Open("").status().code(), StatusCode::kCorruption);
  EXPECT_FALSE(Fst::Open(stored.substr(0, stored.size() - 1)).ok());
  EXPECT_FALSE(Fst::Open(stored + "x").ok());
  std::string wrong = stored;
  wrong[0] = 'X';
  EXPECT_FALSE(Fst::Open(wrong).ok());
}

// Calls every function on bytes that may be damaged.
void UseAll(const Fst& fst) {
  size_t steps = 0;
  for (auto it = fst.Begin(); it.Valid() && steps < 5000; it.Next(), ++steps) {
    ASSERT_LT(it.ordinal(), fst.size());
    const std::string word(it.word());
    const auto found = fst.Find(word);
    if (found) {
      ASSERT_LT(*found, fst.size());
    }
    const auto [begin, end] = fst.PrefixRange(std::string_view(word).substr(0, word.size() / 2));
    ASSERT_LE(begin, end);
    ASSERT_LE(end, fst.size());
    auto next = fst.Seek(word);
    if (next.Valid()) {
      ASSERT_LT(next.ordinal(), fst.size());
    }
  }
  for (uint32_t ordinal = 0; ordinal < std::min(fst.size(), 500u); ++ordinal) {
    ASSERT_LE(fst.Word(ordinal).size(), kWordBytesMax);
    auto it = fst.SeekOrdinal(ordinal);
    if (it.Valid()) it.Next();
  }
  for (const bool prefix : {false, true}) {
    const FuzzyQuery query("abc", 2, prefix);
    steps = 0;
    for (FuzzyStream stream(fst, query); stream.Valid() && steps < 5000; stream.Next(), ++steps) {
      ASSERT_LT(stream.ordinal(), fst.size());
      ASSERT_LE(stream.distance(), 2);
    }
  }
}

TEST(Fst, DamagedBytesAreSafeToUseAndFoundByVerify) {
  std::mt19937_64 random(TestSeed());
  size_t opened_count = 0, verified_wrong = 0;
  for (int round = 0; round < 400; ++round) {
    const Words words = RandomWords(random, round % 2 ? kMixed : kTwoLetters, 200, 8);
    const std::string stored = Store(words);
    std::string damaged = stored;
    for (size_t i = 0; i < 1 + random() % 4; ++i) {
      damaged[4 + random() % (damaged.size() - 4)] ^= static_cast<char>(1 + random() % 255);
    }
    // An exact copy on the heap, so that sanitizers detect each read past the end.
    const std::vector<char> heap(damaged.begin(), damaged.end());
    const Result<Fst> fst = Fst::Open({heap.data(), heap.size()});
    if (!fst.ok()) continue;
    ++opened_count;
    UseAll(*fst);
    if (HasFatalFailure()) return;
    if (!fst->Verify().ok()) continue;
    // Bytes that Verify accepts are a valid dictionary, though perhaps of other words.
    ++verified_wrong;
    uint32_t count = 0;
    std::string last;
    for (auto it = fst->Begin(); it.Valid(); it.Next(), ++count) {
      ASSERT_EQ(fst->Find(it.word()), count);
      if (count > 0) {
        ASSERT_LT(last, it.word());
      }
      last = it.word();
    }
    ASSERT_EQ(count, fst->size());
  }
  EXPECT_GT(opened_count, 200u);
  EXPECT_LT(verified_wrong, opened_count / 2);
}

TEST(Fst, ArbitraryNodesAreSafeToUse) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 2000; ++round) {
    std::string nodes;
    for (size_t i = random() % 200; i > 0; --i) {
      nodes.push_back(static_cast<char>(random() % 3 ? random() % 32 : random()));
    }
    std::string bytes(kMagic, 4);
    PutFixed<uint32_t>(bytes, random() % 3 ? random() % 100 : static_cast<uint32_t>(random()));
    PutFixed<uint32_t>(bytes, static_cast<uint32_t>(nodes.size()));
    bytes += nodes;
    bytes.append(kPaddingBytes, '\0');
    const std::vector<char> heap(bytes.begin(), bytes.end());
    const Result<Fst> fst = Fst::Open({heap.data(), heap.size()});
    if (!fst.ok()) continue;
    UseAll(*fst);
    (void)fst->Verify();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace gannet::fst
