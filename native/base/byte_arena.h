// Long-lived blocks of bytes, in a mapping of their own.
//
// Long-lived blocks among short-lived ones keep malloc from merging the free memory between them:
// memory grows for hours although no more of it is in use. The arena bounds it from the start.
//
// The first write to a page waits until the kernel has found one. Under a hypervisor that takes
// unused memory back from its guests, it waits for the hypervisor as well: at least 10 us, 5 ms for
// a large page. So a thread of the arena makes pages ready before they are needed.
//
// Memory: the part of the mapping that was ever in use, plus kAhead; it is not given back.
// Threads: any.
#pragma once

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace gannet {

class ByteArena {
 public:
  explicit ByteArena(size_t bytes_max);
  ~ByteArena();
  ByteArena(const ByteArena&) = delete;

  // Null: no free range is that long. Blocks are aligned to kUnit; sizes are rounded up to it.
  static constexpr size_t kUnit = 512;
  // Bytes after the used part that are kept ready, once the first block is allocated.
  static constexpr size_t kAhead = 4 << 20;
  char* Allocate(size_t bytes);
  // bytes: the size passed to Allocate.
  void Free(char* block, size_t bytes);

 private:
  static size_t Rounded(size_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }
  // Whether more pages must be made ready. REQUIRES: mutex_ is held
  bool NeedsPages() const { return ready_ < std::min(used_ + kAhead, bytes_max_); }
  // Called when used_ has grown. REQUIRES: mutex_ is held
  void RequestPages();
  void MakeReady();

  char* data_ = nullptr;  // null: nothing could be mapped
  const size_t bytes_max_;
  std::mutex mutex_;               // guards the members below
  std::map<size_t, size_t> free_;  // begin, end; no two touch
  size_t used_ = 0;                // the largest offset at which a block has ended
  size_t ready_ = 0;               // pages before this offset are ready
  bool closing_ = false;
  std::condition_variable wanted_;
  std::thread maker_;  // started with the first block
};

// One block of the arena, or of malloc if the arena is full.
//
// Lifetime: must end before the arena's.
class ArenaBlock {
 public:
  ArenaBlock(ByteArena& arena, size_t bytes);
  ~ArenaBlock();
  ArenaBlock(const ArenaBlock&) = delete;

  char* data() const { return heap_ != nullptr ? heap_.get() : block_; }
  size_t size() const { return bytes_; }

 private:
  ByteArena& arena_;
  const size_t bytes_;
  char* const block_;
  std::unique_ptr<char[]> heap_;
};

}  // namespace gannet
