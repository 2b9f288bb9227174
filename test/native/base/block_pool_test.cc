#include "base/block_pool.h"

#include <gtest/gtest.h>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "test_seed.h"

namespace gannet {
namespace {

struct Block {
  unsigned char* bytes;
  size_t size;
  unsigned char mark;
  bool aligned;
};

void Fill(Block& block, std::mt19937_64& random) {
  block.mark = static_cast<unsigned char>(random());
  std::fill_n(block.bytes, block.size, block.mark);
}

void ExpectMarked(const Block& block, size_t size) {
  for (size_t i = 0; i < size; ++i)
    ASSERT_EQ(block.bytes[i], block.mark) << "byte " << i << " of " << block.size;
}

// Allocates and frees blocks of the pool and of malloc in random order: none may overlap another.
void UseBlocks(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<Block> blocks;
  const auto any_size = [&] {
    return static_cast<size_t>(random() % (size_t{1} << (1 + random() % 16)));
  };
  for (int step = 0; step < 20'000; ++step) {
    const auto kind = random() % 6;
    if (kind < 3 || blocks.empty()) {
      Block block{nullptr, kind == 2 ? size_t{8192} : any_size(), 0, kind == 2};
      void* bytes = kind == 0   ? std::malloc(block.size)
                    : kind == 1 ? PoolMalloc(block.size)
                                : PoolAlignedMalloc(64, block.size);
      if (block.aligned) ASSERT_EQ(reinterpret_cast<uintptr_t>(bytes) % 64, 0u);
      block.bytes = static_cast<unsigned char*>(bytes);
      Fill(block, random);
      blocks.push_back(block);
      continue;
    }
    Block& block = blocks[random() % blocks.size()];
    ExpectMarked(block, block.size);
    if (kind == 3 && !block.aligned) {
      const size_t size = any_size();
      block.bytes = static_cast<unsigned char*>(PoolRealloc(block.bytes, size));
      ExpectMarked(block, std::min(size, block.size));
      block.size = size;
      Fill(block, random);
      continue;
    }
    block.aligned ? PoolAlignedFree(block.bytes) : PoolFree(block.bytes);
    block = blocks.back();
    blocks.pop_back();
  }
  for (const Block& block : blocks)
    block.aligned ? PoolAlignedFree(block.bytes) : PoolFree(block.bytes);
}

TEST(BlockPool, BlocksNeverOverlap) {
  const uint64_t seed = TestSeed();
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t) threads.emplace_back([=] { UseBlocks(seed + t); });
  for (std::thread& thread : threads) thread.join();
}

TEST(BlockPool, TakesBlocksThatAnotherThreadMade) {
  std::vector<void*> blocks;
  std::thread([&] {
    for (int i = 0; i < 1000; ++i)
      blocks.push_back(i % 2 == 0 ? PoolMalloc(4000) : std::malloc(300));
  }).join();
  for (void* block : blocks) {
    std::memset(block, 1, 300);
    PoolFree(block);
  }
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(BlockPool, IsGivenBackByAThreadThatLivesOn) {
  constexpr size_t kBlocks = 1000, kBytes = 4000;
  std::thread([&] {
    std::vector<void*> blocks;
    for (size_t i = 0; i < kBlocks; ++i) blocks.push_back(PoolMalloc(kBytes));
    for (void* block : blocks) PoolFree(block);
    const size_t kept = mallinfo2().uordblks;
    RefreshPool();
    EXPECT_LT(mallinfo2().uordblks + kBlocks * kBytes / 2, kept);
    // Blocks freed now are kept again, until the next refresh.
    void* const block = PoolMalloc(kBytes);
    PoolFree(block);
    RefreshPool();
    EXPECT_EQ(PoolMalloc(kBytes), block);
    PoolFree(block);
  }).join();
}
#endif

}  // namespace
}  // namespace gannet
