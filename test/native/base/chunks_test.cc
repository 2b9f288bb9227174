#include "base/chunks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "test_seed.h"

namespace gannet {
namespace {

TEST(Chunks, HoldWhatAVectorHolds) {
  std::mt19937_64 random(TestSeed());
  for (const size_t items : {0, 1, 63, 64, 65, 3'000, 300'000}) {
    Chunks<uint32_t> chunks;
    std::vector<uint32_t> expected;
    // Begin and length of each run of items that were added together.
    std::vector<std::pair<size_t, size_t>> runs;
    while (expected.size() < items) {
      const size_t count = random() % 50 == 0 ? random() % 100'000 : 1 + random() % 20;
      runs.emplace_back(expected.size(), count);
      uint32_t* const at = chunks.Extend(count);
      for (size_t i = 0; i < count; ++i)
        expected.push_back(at[i] = static_cast<uint32_t>(random()));
    }
    ASSERT_EQ(chunks.size(), expected.size());
    EXPECT_GE(chunks.memory_bytes(), expected.size() * sizeof(uint32_t));
    Chunks<uint32_t>::Cursor cursor(chunks);
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(cursor.Next(), expected[i]) << i;
    // Items added together are in one chunk.
    std::vector<uint32_t> joined;
    size_t run = 0;
    for (size_t i = 0; i < chunks.chunk_count(); ++i) {
      joined.insert(joined.end(), chunks.chunk(i).begin(), chunks.chunk(i).end());
      while (run < runs.size() && runs[run].first + runs[run].second <= joined.size()) ++run;
      ASSERT_TRUE(run == runs.size() || runs[run].first == joined.size());
    }
    EXPECT_EQ(joined, expected);
  }
}

TEST(Chunks, GrowByAChunkAndNotTwofold) {
  Chunks<uint64_t> chunks;
  constexpr size_t kChunkBytes = 256 << 10;
  for (uint64_t i = 0; i < 300'000; ++i) {
    chunks.Add(i);
    ASSERT_LE(chunks.memory_bytes(), (i + 1) * sizeof(uint64_t) * 2 + 256);
    ASSERT_LE(chunks.memory_bytes(), (i + 1) * sizeof(uint64_t) + kChunkBytes);
    ASSERT_EQ(chunks.back(), i);
  }
}

}  // namespace
}  // namespace gannet
