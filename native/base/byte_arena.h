// Blocks of bytes that stay for long, in a mapping of their own.
//
// Among blocks that come and go, those that stay keep malloc from joining what lies between them:
// memory grows for hours though no more of it is in use. Here it is bounded from the start.
//
// The first write to a page waits for the kernel to find one, and under a hypervisor that takes
// back what its guests leave free for that as well: 10 us and more, 5 ms for a large page. So a
// thread of the arena makes pages ready before they are needed.
//
// Memory: as much of the mapping as was ever in use, and kAhead; it is not given back. Threads:
// any.
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

  // Null: so many bytes are not free side by side. They are aligned to kUnit, and rounded up to it.
  static constexpr size_t kUnit = 512;
  // So much behind what is in use is made ready, from the first block on.
  static constexpr size_t kAhead = 4 << 20;
  char* Allocate(size_t bytes);
  // bytes: as asked for.
  void Free(char* block, size_t bytes);

 private:
  static size_t Rounded(size_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }
  // Whether to go on making pages ready. REQUIRES: mutex_ is held
  bool NeedsPages() const { return ready_ < std::min(used_ + kAhead, bytes_max_); }
  // Called when used_ has grown. REQUIRES: mutex_ is held
  void AskForPages();
  void MakeReady();

  char* data_ = nullptr;  // null: nothing could be mapped
  const size_t bytes_max_;
  std::mutex mutex_;               // guards what follows
  std::map<size_t, size_t> free_;  // begin, end; none touches another
  size_t used_ = 0;                // no block was ever behind it
  size_t ready_ = 0;               // pages before it are there
  bool closing_ = false;
  std::condition_variable wanted_;
  std::thread maker_;  // from the first block on
};

// One block, or what malloc has where there is no room for it.
//
// Lifetime: dies before the arena.
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
