#include "segment/docset_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "test_seed.h"

namespace gannet::segment {
namespace {

using Kind = DocSetCache::Kind;

std::string KeyOf(Kind kind, Ordinal a, Ordinal b) {
  return DocSetCache::KeyOf(kind, std::array{a, b});
}

TEST(DocSetCache, DropsTheDocsetOfTheLowestRank) {
  std::mt19937_64 random(TestSeed());
  constexpr size_t kOwners = 3, kBytesMax = 64 << 10;
  DocSetCacheBudget budget(kBytesMax);
  std::array<std::optional<DocSetCache>, kOwners> owners;
  for (auto& owner : owners) owner.emplace(budget);
  struct ReferenceEntry {
    size_t owner;
    Ordinal word;
    size_t bytes;
    double per_byte, rank;
  };
  std::vector<ReferenceEntry> reference;  // in the order of requests
  double floor = 0;
  size_t dropped = 0;
  for (int step = 0; step < 20'000; ++step) {
    const size_t owner = random() % kOwners;
    const auto word = static_cast<Ordinal>(random() % 60);
    const auto entry =
        std::find_if(reference.begin(), reference.end(),
                     [&](const ReferenceEntry& t) { return t.owner == owner && t.word == word; });
    if (random() % 1000 == 0) {
      owners[owner].reset();
      owners[owner].emplace(budget);
      std::erase_if(reference, [&](const ReferenceEntry& t) { return t.owner == owner; });
    } else if (random() % 2 == 0) {
      const auto found = owners[owner]->Find(KeyOf(Kind::kRange, word, word + 1));
      ASSERT_EQ(found != nullptr, entry != reference.end());
      if (!found) continue;
      EXPECT_TRUE(found->Contains(static_cast<uint32_t>(owner) * 1000 + word));
      entry->rank = floor + entry->per_byte;
      std::rotate(entry, entry + 1, reference.end());
    } else if (entry == reference.end()) {
      std::vector<uint32_t> docids{static_cast<uint32_t>(owner) * 1000 + word};
      const size_t more = random() % 2000;
      for (size_t i = 0; i < more; ++i) docids.push_back(static_cast<uint32_t>(10'000 + i * 2));
      const DocSet documents = DocSet::FromSorted(docids);
      const std::string key = DocSetCache::KeyOf(Kind::kRange, std::array{word, word + 1});
      const uint64_t cost = random() % 3 * 1000;
      owners[owner]->Store(key, documents, cost);
      const size_t bytes = DocSetCache::BytesOf(key, documents);
      const double per_byte = static_cast<double>(cost) / static_cast<double>(bytes);
      reference.push_back({owner, word, bytes, per_byte, floor + per_byte});
      const auto held = [&] {
        size_t sum = 0;
        for (const ReferenceEntry& t : reference) sum += t.bytes;
        return sum;
      };
      for (; held() > kBytesMax; ++dropped) {
        const auto lowest = std::min_element(
            reference.begin(), reference.end(),
            [](const ReferenceEntry& a, const ReferenceEntry& b) { return a.rank < b.rank; });
        floor = lowest->rank;
        reference.erase(lowest);
      }
      ASSERT_EQ(budget.bytes(), held());
    }
  }
  EXPECT_GT(dropped, 0u);
  for (auto& owner : owners) owner.reset();
  EXPECT_EQ(budget.bytes(), 0u);
}

TEST(DocSetCache, WhatIsTooLargeIsNotKept) {
  DocSetCacheBudget budget(4 << 10);
  DocSetCache sets(budget);
  std::vector<uint32_t> docids;
  for (DocId docid = 0; docid < 100'000; docid += 2) docids.push_back(docid);
  sets.StoreRead(KeyOf(Kind::kRange, 1, 2), DocSet::FromSorted(docids));
  EXPECT_EQ(sets.Find(KeyOf(Kind::kRange, 1, 2)), nullptr);
  EXPECT_EQ(budget.bytes(), 0u);
}

TEST(DocSetCache, KeysDifferByKindAndOwner) {
  DocSetCacheBudget budget(1 << 20);
  DocSetCache a(budget), b(budget);
  a.StoreRead(KeyOf(Kind::kRange, 1, 2), DocSet::FromSorted(std::array{1u}));
  a.StoreRead(KeyOf(Kind::kAdjacency, 1, 2), DocSet::FromSorted(std::array{2u}));
  a.StoreRead(KeyOf(DocSetCache::KindOfField(0), 1, 2), DocSet::FromSorted(std::array{3u}));
  EXPECT_EQ(a.Find(KeyOf(Kind::kRange, 1, 2))->min(), 1u);
  EXPECT_EQ(a.Find(KeyOf(Kind::kAdjacency, 1, 2))->min(), 2u);
  EXPECT_EQ(a.Find(KeyOf(DocSetCache::KindOfField(0), 1, 2))->min(), 3u);
  EXPECT_EQ(a.Find(KeyOf(DocSetCache::KindOfLeading(1), 1, 2)), nullptr);
  EXPECT_EQ(b.Find(KeyOf(Kind::kRange, 1, 2)), nullptr);
}

TEST(DocSetCache, DocumentsAreReadUntilThatHasCostAsMuchAsMakingTheSet) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 100; ++round) {
    DocSetCacheBudget budget(1 << 20);
    const DocSetCache sets(budget);
    const std::string key = DocSetCache::KeyOf(
        Kind::kRange, std::array{static_cast<Ordinal>(random()), static_cast<Ordinal>(random())});
    const uint64_t cost = random() % 1'000'000;
    uint64_t read = 0;
    for (int step = 0; step < 50; ++step) {
      const uint64_t documents = random() % 1000;
      const bool pays = read + documents * DocSetCache::kReadCost <= cost;
      ASSERT_EQ(sets.PaysToRead(key, documents, cost), pays) << "read " << read << " of " << cost;
      // The number read may differ from the number planned.
      const uint64_t noted = pays ? random() % 1000 : 0;
      if (pays) sets.NoteRead(key, noted);
      read = pays ? read + noted * DocSetCache::kReadCost : 0;
    }
  }
}

TEST(DocSetCache, ManyThreads) {
  DocSetCacheBudget budget(32 << 10);
  DocSetCache sets(budget);
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, seed = TestSeed() + t] {
      std::mt19937_64 random(seed);
      for (int i = 0; i < 3000; ++i) {
        const auto word = static_cast<Ordinal>(random() % 100);
        DocSetCache own(budget);
        own.StoreRead(KeyOf(Kind::kRange, word, 0), DocSet::FromSorted(std::array{word}));
        if (const auto found = sets.Find(KeyOf(Kind::kRange, word, 0))) {
          EXPECT_EQ(found->min(), word);
          EXPECT_EQ(found->size(), 200u);
        } else {
          sets.StoreRead(KeyOf(Kind::kRange, word, 0), DocSet::Range(word, word + 200));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(budget.bytes(), size_t{32} << 10);
}

}  // namespace
}  // namespace gannet::segment
