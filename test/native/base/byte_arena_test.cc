#include "base/byte_arena.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "test_seed.h"

namespace gannet {
namespace {

constexpr size_t kPage = 4096;

TEST(ByteArena, BlocksKeepTheirContent) {
  std::mt19937_64 random(TestSeed());
  constexpr size_t kBytes = 256 << 10;
  ByteArena arena(kBytes);
  struct Block {
    char* at;
    std::string expected;
  };
  std::vector<Block> blocks;
  size_t refused = 0;
  for (int step = 0; step < 20'000; ++step) {
    if (random() % 5 < 3) {
      const size_t sizes[] = {0, 1, 511, 512, 513, 4096, 30'000};
      const size_t size = random() % 2 == 0 ? sizes[random() % 7] : random() % 9000;
      char* const at = arena.Allocate(size);
      if (at == nullptr) {
        ++refused;
        continue;
      }
      blocks.push_back({at, std::string(size, static_cast<char>(step))});
      std::memcpy(at, blocks.back().expected.data(), size);
    } else if (!blocks.empty()) {
      std::swap(blocks[random() % blocks.size()], blocks.back());
      ASSERT_EQ(std::string(blocks.back().at, blocks.back().expected.size()),
                blocks.back().expected);
      arena.Free(blocks.back().at, blocks.back().expected.size());
      blocks.pop_back();
    }
  }
  EXPECT_GT(refused, 0u);
  for (const Block& block : blocks) {
    ASSERT_EQ(std::string(block.at, block.expected.size()), block.expected);
    arena.Free(block.at, block.expected.size());
  }
  // The memory is one free range again.
  char* const all = arena.Allocate(kBytes);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(arena.Allocate(1), nullptr);
  arena.Free(all, kBytes);
}

TEST(ByteArena, ABlockThatDoesNotFitComesFromMalloc) {
  ByteArena arena(4096);
  const ArenaBlock large(arena, 100'000);
  std::memset(large.data(), 1, large.size());
  auto first = std::make_unique<ArenaBlock>(arena, 4096);
  const char* const at = first->data();
  const ArenaBlock second(arena, 512);
  std::memset(second.data(), 2, second.size());
  std::memset(first->data(), 3, first->size());
  EXPECT_EQ(second.data()[511], 2);
  first.reset();
  EXPECT_EQ(ArenaBlock(arena, 4096).data(), at);
}

#ifdef MADV_POPULATE_WRITE
// Pages of the `bytes` from `at` that are in memory.
size_t PagesIn(char* at, size_t bytes) {
  std::vector<unsigned char> in(bytes / kPage);
  EXPECT_EQ(mincore(at, bytes, in.data()), 0);
  return static_cast<size_t>(
      std::count_if(in.begin(), in.end(), [](unsigned char page) { return (page & 1) != 0; }));
}

bool KernelMakesPagesReady() {
  void* const page =
      mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool makes = madvise(page, kPage, MADV_POPULATE_WRITE) == 0;
  munmap(page, kPage);
  return makes;
}

TEST(ByteArena, PagesAreReadyAheadOfTheUsedPartAndNoFurther) {
  if (!KernelMakesPagesReady()) GTEST_SKIP() << "the kernel does not support MADV_POPULATE_WRITE";
  constexpr size_t kBytes = 4 * ByteArena::kAhead;
  ByteArena arena(kBytes);
  char* const first = arena.Allocate(1);
  ASSERT_EQ(reinterpret_cast<uintptr_t>(first) % kPage, 0u);
  const auto wait_for = [&](size_t bytes) {
    for (int i = 0; i < 10'000 && PagesIn(first, bytes) < bytes / kPage; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(PagesIn(first, bytes), bytes / kPage);
  };
  wait_for(ByteArena::kAhead);
  EXPECT_LT(PagesIn(first, kBytes), kBytes / kPage / 2);
  // Pages that are in use stay unchanged.
  char* const second = arena.Allocate(ByteArena::kAhead * 2);
  ASSERT_NE(second, nullptr);
  std::memset(second, 7, ByteArena::kAhead * 2);
  wait_for(ByteArena::kAhead * 3);
  EXPECT_EQ(std::count(second, second + ByteArena::kAhead * 2, 7),
            static_cast<ptrdiff_t>(ByteArena::kAhead * 2));
  // Pages are made ready to the end of the mapping, and not beyond it.
  ASSERT_NE(arena.Allocate(ByteArena::kAhead), nullptr);
  wait_for(kBytes);
}
#endif

}  // namespace
}  // namespace gannet
