#include "base/block_pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/memory.h"
#include "base/sanitizers.h"

#if defined(__GLIBC__) && !defined(GANNET_SANITIZED)
#include <malloc.h>
#define GANNET_BLOCK_POOL 1
#endif

namespace gannet {

#if defined(GANNET_BLOCK_POOL)

namespace {

// Sizes kept: powers of two. The largest is the size of the bits of 65536 docids (docset.h), the
// only aligned blocks.
constexpr size_t kSizeMin = 32, kSizeMax = 8192;
constexpr size_t kClasses = 9;
constexpr size_t kAlignment = 64;
static_assert(kSizeMin << (kClasses - 1) == kSizeMax);

// Blocks that a thread has freed, as lists linked through the first bytes of the blocks. Trivially
// destructible: frees may come after the thread's destructors have run.
struct Kept {
  std::array<void*, kClasses> first;
  void* aligned;  // blocks of kSizeMax bytes
  size_t bytes;
  bool ended;
};
thread_local constinit Kept kept{};

void FreeAll(void*& first) {
  while (first != nullptr) {
    void* block = first;
    std::memcpy(&first, block, sizeof(first));
    std::free(block);
  }
}

void FreeKept() {
  for (void*& first : kept.first) FreeAll(first);
  FreeAll(kept.aligned);
  kept.bytes = 0;
}

struct AtThreadEnd {
  ~AtThreadEnd() {
    kept.ended = true;
    FreeKept();
  }
};

size_t SizeOfClass(size_t size_class) { return kSizeMin << size_class; }
// The smallest class that holds `size`. REQUIRES: size <= kSizeMax
size_t ClassFor(size_t size) {
  return size <= kSizeMin
             ? 0
             : static_cast<size_t>(std::bit_width(size - 1) - std::bit_width(kSizeMin - 1));
}

void* Take(void*& first, size_t size) {
  void* block = first;
  if (block == nullptr) return nullptr;
  std::memcpy(&first, block, sizeof(first));
  kept.bytes -= size;
  return block;
}

void Keep(void* block, void*& first, size_t size) {
  if (kept.bytes + size > kPooledBytesMax || kept.ended) return std::free(block);
  static thread_local AtThreadEnd at_thread_end;
  static_cast<void>(at_thread_end);
  std::memcpy(block, &first, sizeof(first));
  first = block;
  kept.bytes += size;
}

}  // namespace

void* PoolMalloc(size_t size) {
  if (size > kSizeMax) return std::malloc(size);
  const size_t size_class = ClassFor(size), rounded = SizeOfClass(size_class);
  void* block = Take(kept.first[size_class], rounded);
  return block != nullptr ? block : std::malloc(rounded);
}

void PoolFree(void* block) {
  if (block == nullptr) return;
  const size_t usable = malloc_usable_size(block);
  if (usable < kSizeMin || usable >= 2 * kSizeMax) return std::free(block);
  // The largest class that fits into the block. A block from malloc or realloc may be much larger
  // than its class and would count for less than it holds.
  const size_t size_class = std::min(
      static_cast<size_t>(std::bit_width(usable) - std::bit_width(kSizeMin)), kClasses - 1);
  if (usable > SizeOfClass(size_class) / 4 * 5 + kSizeMin) return std::free(block);
  Keep(block, kept.first[size_class], SizeOfClass(size_class));
}

void* PoolRealloc(void* block, size_t size) {
  if (block == nullptr) return PoolMalloc(size);
  const size_t usable = malloc_usable_size(block);
  // A shrinking block gives memory back, unless most of it stays in use.
  if (usable >= size && usable <= 2 * std::max(size, kSizeMin)) return block;
  if (usable >= size || size > kSizeMax) return std::realloc(block, size);
  void* larger = PoolMalloc(size);
  if (larger == nullptr) return nullptr;
  std::memcpy(larger, block, usable);
  PoolFree(block);
  return larger;
}

void* PoolAlignedMalloc(size_t alignment, size_t size) {
  if (size == kSizeMax && alignment <= kAlignment) {
    if (void* block = Take(kept.aligned, kSizeMax); block != nullptr) return block;
  }
  void* block = nullptr;
  return posix_memalign(&block, std::max(alignment, kAlignment), size) == 0 ? block : nullptr;
}

void PoolAlignedFree(void* block) {
  if (block == nullptr) return;
  const size_t usable = malloc_usable_size(block);
  if (usable < kSizeMax || usable >= 2 * kSizeMax) return std::free(block);
  Keep(block, kept.aligned, kSizeMax);
}

void RefreshPool() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPause{10};
  static thread_local constinit Clock::rep due = 0;
  // One thread trims for all: trimming walks every arena, and other threads wait meanwhile.
  static constinit std::atomic<Clock::rep> trim_due{0};
  const Clock::rep now = Clock::now().time_since_epoch().count();
  if (now < due) return;
  due = now + Clock::duration(kPause).count();
  FreeKept();
  if (Clock::rep seen = trim_due; now >= seen && trim_due.compare_exchange_strong(seen, due))
    ReturnFreeMemory();
}

#else

void RefreshPool() {}
void* PoolMalloc(size_t size) { return std::malloc(size); }
void PoolFree(void* block) { std::free(block); }
void* PoolRealloc(void* block, size_t size) { return std::realloc(block, size); }
void PoolAlignedFree(void* block) { std::free(block); }
void* PoolAlignedMalloc(size_t alignment, size_t size) {
  void* block = nullptr;
  return posix_memalign(&block, alignment, size) == 0 ? block : nullptr;
}

#endif

}  // namespace gannet
