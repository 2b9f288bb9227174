#include "base/byte_arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <exception>
#include <iterator>

namespace gannet {
namespace {

// Bytes of pages made ready at a time: a thread that maps memory waits meanwhile.
constexpr size_t kStep = 64 << 10;

}  // namespace

ByteArena::ByteArena(size_t bytes_max) : bytes_max_(Rounded(bytes_max)) {
  void* map = mmap(nullptr, bytes_max_, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (map == MAP_FAILED) return;
  data_ = static_cast<char*>(map);
  free_.emplace(0, bytes_max_);
}

ByteArena::~ByteArena() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wanted_.notify_all();
  if (maker_.joinable()) maker_.join();
  if (data_ != nullptr) munmap(data_, bytes_max_);
}

char* ByteArena::Allocate(size_t bytes) {
  const size_t wanted = Rounded(std::max(bytes, size_t{1}));
  const std::lock_guard lock(mutex_);
  // The first gap that is large enough: the end stays free for large blocks.
  const auto fit = std::find_if(free_.begin(), free_.end(), [&](const auto& free) {
    return free.second - free.first >= wanted;
  });
  if (fit == free_.end()) return nullptr;
  const auto [begin, end] = *fit;
  free_.erase(fit);
  if (begin + wanted < end) free_.emplace(begin + wanted, end);
  if (begin + wanted > used_) {
    used_ = begin + wanted;
    RequestPages();
  }
  return data_ + begin;
}

void ByteArena::Free(char* block, size_t bytes) {
  size_t begin = static_cast<size_t>(block - data_),
         end = begin + Rounded(std::max(bytes, size_t{1}));
  const std::lock_guard lock(mutex_);
  auto after = free_.lower_bound(begin);
  if (after != free_.end() && after->first == end) {
    end = after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin() && std::prev(after)->second == begin) {
    std::prev(after)->second = end;
  } else {
    free_.emplace_hint(after, begin, end);
  }
}

void ByteArena::RequestPages() {
#ifdef MADV_POPULATE_WRITE
  if (!NeedsPages()) return;
  if (maker_.joinable()) return wanted_.notify_one();
  try {
    maker_ = std::thread([this] { MakeReady(); });
  } catch (const std::exception&) {
    // No thread can be started: pages are allocated when they are first written to.
  }
#endif
}

void ByteArena::MakeReady() {
#ifdef MADV_POPULATE_WRITE
  std::unique_lock lock(mutex_);
  for (;;) {
    wanted_.wait(lock, [&] { return closing_ || NeedsPages(); });
    if (closing_) return;
    const size_t begin = ready_, bytes = std::min(kStep, bytes_max_ - begin);
    lock.unlock();
    // This leaves the content of the pages as it is.
    const bool made = madvise(data_ + begin, bytes, MADV_POPULATE_WRITE) == 0;
    lock.lock();
    // An older kernel does not support this, or memory has run out: do not try again.
    ready_ = made ? begin + bytes : bytes_max_;
  }
#endif
}

ArenaBlock::ArenaBlock(ByteArena& arena, size_t bytes)
    : arena_(arena),
      bytes_(bytes),
      block_(arena.Allocate(bytes)),
      heap_(block_ == nullptr ? std::make_unique<char[]>(bytes) : nullptr) {}

ArenaBlock::~ArenaBlock() {
  if (block_ != nullptr) arena_.Free(block_, bytes_);
}

}  // namespace gannet
