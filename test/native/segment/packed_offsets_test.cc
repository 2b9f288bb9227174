#include "segment/packed_offsets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "test_seed.h"

namespace gannet::segment {
namespace {

std::vector<uint64_t> RandomOffsets(std::mt19937_64& random) {
  std::vector<uint64_t> offsets;
  uint64_t offset = random() % 3 == 0 ? 0 : random() >> random() % 64 >> 8;
  const uint64_t step_bits = random() % 50;
  for (size_t left = random() % (random() % 4 == 0 ? 5000 : 200); left > 0; --left) {
    offsets.push_back(offset);
    offset += random() % 5 == 0 ? 0 : random() % (uint64_t{1} << step_bits);
  }
  return offsets;
}

TEST(PackedOffsets, AreThoseThatWerePacked) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 500; ++round) {
    const std::vector<uint64_t> offsets = RandomOffsets(random);
    const std::string bytes = PackOffsets(offsets);
    const auto packed = PackedOffsets::Open(bytes);
    ASSERT_TRUE(packed.ok()) << round;
    ASSERT_EQ(packed->size(), offsets.size());
    ASSERT_EQ(packed->empty(), offsets.empty());
    for (size_t i = 0; i < offsets.size(); ++i)
      ASSERT_EQ((*packed)[i], offsets[i]) << round << " " << i;
    EXPECT_TRUE(packed->IsAscending());
    if (!offsets.empty()) {
      EXPECT_EQ(packed->front(), offsets.front());
      EXPECT_EQ(packed->back(), offsets.back());
    }
  }
}

TEST(PackedOffsets, TakeFewBytes) {
  std::vector<uint64_t> offsets;
  for (uint64_t i = 0; i <= 100'000; ++i) offsets.push_back(i * 300);
  EXPECT_LT(PackOffsets(offsets).size(), offsets.size() * 17 / 8);
  EXPECT_EQ(PackOffsets({}).size(), 0u);
}

TEST(PackedOffsets, OfAnotherSizeAreRefused) {
  std::mt19937_64 random(TestSeed() + 1);
  for (int round = 0; round < 200; ++round) {
    const std::vector<uint64_t> offsets = RandomOffsets(random);
    const std::string bytes = PackOffsets(offsets);
    if (bytes.empty()) continue;
    EXPECT_EQ(
        PackedOffsets::Open(bytes.substr(0, 1 + random() % (bytes.size() - 1))).status().code(),
        StatusCode::kCorruption);
    EXPECT_EQ(PackedOffsets::Open(bytes + "x").status().code(), StatusCode::kCorruption);
    // Sizes that overflow when multiplied.
    for (const size_t at : {size_t{0}, size_t{8}}) {
      std::string damaged = bytes;
      damaged[at + 1 + random() % 7] ^= static_cast<char>(1 << random() % 8);
      EXPECT_EQ(PackedOffsets::Open(damaged).status().code(), StatusCode::kCorruption) << at;
    }
  }
}

// With a flipped bit they are refused, or give other offsets that can be read safely.
TEST(PackedOffsets, AreSafeToReadWithAnyBits) {
  std::mt19937_64 random(TestSeed() + 2);
  for (int round = 0; round < 500; ++round) {
    const std::vector<uint64_t> offsets = RandomOffsets(random);
    std::string bytes = PackOffsets(offsets);
    if (bytes.empty()) continue;
    bytes[random() % bytes.size()] ^= static_cast<char>(1 << random() % 8);
    const auto packed = PackedOffsets::Open(bytes);
    if (!packed.ok()) continue;
    std::vector<uint64_t> read;
    for (size_t i = 0; i < packed->size(); ++i) read.push_back((*packed)[i]);
    EXPECT_EQ(packed->IsAscending(), std::is_sorted(read.begin(), read.end()));
  }
}

}  // namespace
}  // namespace gannet::segment
