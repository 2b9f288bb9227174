#include "index/found_words.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "test_seed.h"

namespace gannet::index {
namespace {

std::shared_ptr<const FoundWords::Entry> EntryOf(const std::string& text, size_t words) {
  auto entry = std::make_shared<FoundWords::Entry>();
  entry->typos[0].emplace(words, FoundWords::Word{text, {1, 2, 3}});
  return entry;
}

TEST(FoundWords, GivesBackWhatWasStoredAndNothingElse) {
  std::mt19937_64 random(TestSeed());
  FoundWords found;
  std::map<std::string, std::shared_ptr<const FoundWords::Entry>> stored;
  size_t hits = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string key = std::to_string(random() % 2000);
    if (const auto entry = found.Find(key)) {
      ++hits;
      ASSERT_EQ(entry, stored.at(key));
    } else {
      stored[key] = EntryOf(key, random() % 64);
      found.Store(key, stored[key]);
    }
    ASSERT_LE(found.bytes(), 2 * FoundWords::kBytesMax);
  }
  EXPECT_GT(hits, 0u);
}

TEST(FoundWords, KeepsWhatIsAskedForWhileOthersComeAndGo) {
  FoundWords found;
  const auto kept = EntryOf("kept", 3);
  found.Store("kept", kept);
  const auto other = EntryOf("other", 256);
  for (int i = 0; i < 5000; ++i) {
    found.Store(std::to_string(i), other);
    ASSERT_EQ(found.Find("kept"), kept) << i;
  }
  EXPECT_EQ(found.Find("0"), nullptr);
}

TEST(FoundWords, WhatIsStoredAgainReplacesWhatWasKept) {
  FoundWords once, again;
  once.Store("word", EntryOf("more", 3));
  again.Store("word", EntryOf("fewer", 1));
  const auto more = EntryOf("more", 3);
  again.Store("word", more);
  EXPECT_EQ(again.Find("word"), more);
  EXPECT_EQ(again.bytes(), once.bytes());
}

TEST(FoundWords, WhatIsTooLargeIsNotKept) {
  FoundWords found;
  found.Store("large", EntryOf("large", FoundWords::kBytesMax / sizeof(FoundWords::Word)));
  EXPECT_EQ(found.Find("large"), nullptr);
  EXPECT_EQ(found.bytes(), 0u);
}

TEST(FoundWords, ACopyKnowsNothing) {
  FoundWords found;
  found.Store("word", EntryOf("word", 1));
  const FoundWords copy(found);
  EXPECT_EQ(copy.Find("word"), nullptr);
}

}  // namespace
}  // namespace gannet::index
