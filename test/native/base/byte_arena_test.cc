#include "base/byte_arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "test_seed.h"

namespace gannet {
namespace {

TEST(ByteArena, BlocksKeepWhatIsWrittenIntoThem) {
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
      ASSERT_EQ(std::string(blocks.back().at, blocks.back().expected.size()), blocks.back().expected);
      arena.Free(blocks.back().at, blocks.back().expected.size());
      blocks.pop_back();
    }
  }
  EXPECT_GT(refused, 0u);
  for (const Block& block : blocks) {
    ASSERT_EQ(std::string(block.at, block.expected.size()), block.expected);
    arena.Free(block.at, block.expected.size());
  }
  // All is one piece again.
  char* const all = arena.Allocate(kBytes);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(arena.Allocate(1), nullptr);
  arena.Free(all, kBytes);
}

TEST(ByteArena, ABlockThatFindsNoRoomIsTakenFromMalloc) {
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

}  // namespace
}  // namespace gannet
