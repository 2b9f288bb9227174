// Blocks of bytes that stay for long, in a mapping of their own.
//
// Among blocks that come and go, those that stay keep malloc from joining what lies between them: memory grows for hours
// though no more of it is in use. Here it is bounded from the start.
//
// Memory: as much of the mapping as was ever in use; it is not given back. Threads: any.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

namespace gannet {

class ByteArena {
 public:
  explicit ByteArena(size_t bytes_max);
  ~ByteArena();
  ByteArena(const ByteArena&) = delete;

  // Null: so many bytes are not free side by side. They are aligned to kUnit, and rounded up to it.
  static constexpr size_t kUnit = 512;
  char* Allocate(size_t bytes);
  // bytes: as asked for.
  void Free(char* block, size_t bytes);

 private:
  static size_t Rounded(size_t bytes) { return (bytes + kUnit - 1) / kUnit * kUnit; }

  char* data_ = nullptr;  // null: nothing could be mapped
  const size_t bytes_max_;
  std::mutex mutex_;
  std::map<size_t, size_t> free_;  // begin, end; none touches another
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
