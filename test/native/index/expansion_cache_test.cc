#include "index/expansion_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "test_seed.h"

namespace gannet::index {
namespace {

std::shared_ptr<const ExpansionCache::Entry> EntryOf(const std::string& text, size_t words) {
  auto entry = std::make_shared<ExpansionCache::Entry>();
  entry->typos[0].emplace(words, ExpansionCache::Word{text, {1, 2, 3}});
  return entry;
}

TEST(ExpansionCache, GivesBackWhatWasStoredAndNothingElse) {
  std::mt19937_64 random(TestSeed());
  ExpansionCache found;
  std::map<std::string, std::shared_ptr<const ExpansionCache::Entry>> stored;
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
    ASSERT_LE(found.bytes(), 2 * ExpansionCache::kBytesMax);
  }
  EXPECT_GT(hits, 0u);
}

TEST(ExpansionCache, KeepsUsedEntriesWhileOthersAreDropped) {
  ExpansionCache found;
  const auto kept = EntryOf("kept", 3);
  found.Store("kept", kept);
  const auto other = EntryOf("other", 256);
  for (int i = 0; i < 5000; ++i) {
    found.Store(std::to_string(i), other);
    ASSERT_EQ(found.Find("kept"), kept) << i;
  }
  EXPECT_EQ(found.Find("0"), nullptr);
}

TEST(ExpansionCache, WhatIsStoredAgainReplacesWhatWasKept) {
  ExpansionCache once, again;
  once.Store("word", EntryOf("more", 3));
  again.Store("word", EntryOf("fewer", 1));
  const auto more = EntryOf("more", 3);
  again.Store("word", more);
  EXPECT_EQ(again.Find("word"), more);
  EXPECT_EQ(again.bytes(), once.bytes());
}

TEST(ExpansionCache, WhatIsTooLargeIsNotKept) {
  ExpansionCache found;
  found.Store("large", EntryOf("large", ExpansionCache::kBytesMax / sizeof(ExpansionCache::Word)));
  EXPECT_EQ(found.Find("large"), nullptr);
  EXPECT_EQ(found.bytes(), 0u);
}

TEST(ExpansionCache, ACopyIsEmpty) {
  ExpansionCache found;
  found.Store("word", EntryOf("word", 1));
  const ExpansionCache copy(found);
  EXPECT_EQ(copy.Find("word"), nullptr);
}

}  // namespace
}  // namespace gannet::index
