#include "base/byte_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace gannet {

ByteArena::ByteArena(size_t bytes_max) : bytes_max_(Rounded(bytes_max)) {
  void* map = mmap(nullptr, bytes_max_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return;
  data_ = static_cast<char*>(map);
#ifdef MADV_HUGEPAGE
  // A hint: what is read again and again is found quicker in large pages.
  madvise(map, bytes_max_, MADV_HUGEPAGE);
#endif
  free_.emplace(0, bytes_max_);
}

ByteArena::~ByteArena() {
  if (data_ != nullptr) munmap(data_, bytes_max_);
}

char* ByteArena::Allocate(size_t bytes) {
  const size_t wanted = Rounded(std::max(bytes, size_t{1}));
  const std::lock_guard lock(mutex_);
  // The first that is large enough: so the end stays free for large ones.
  const auto room = std::find_if(free_.begin(), free_.end(), [&](const auto& free) { return free.second - free.first >= wanted; });
  if (room == free_.end()) return nullptr;
  const auto [begin, end] = *room;
  free_.erase(room);
  if (begin + wanted < end) free_.emplace(begin + wanted, end);
  return data_ + begin;
}

void ByteArena::Free(char* block, size_t bytes) {
  size_t begin = static_cast<size_t>(block - data_), end = begin + Rounded(std::max(bytes, size_t{1}));
  const std::lock_guard lock(mutex_);
  auto behind = free_.lower_bound(begin);
  if (behind != free_.end() && behind->first == end) {
    end = behind->second;
    behind = free_.erase(behind);
  }
  if (behind != free_.begin() && std::prev(behind)->second == begin) {
    std::prev(behind)->second = end;
  } else {
    free_.emplace_hint(behind, begin, end);
  }
}

ArenaBlock::ArenaBlock(ByteArena& arena, size_t bytes)
    : arena_(arena), bytes_(bytes), block_(arena.Allocate(bytes)), heap_(block_ == nullptr ? std::make_unique<char[]>(bytes) : nullptr) {}

ArenaBlock::~ArenaBlock() {
  if (block_ != nullptr) arena_.Free(block_, bytes_);
}

}  // namespace gannet
