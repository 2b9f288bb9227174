// A list stored in chunks. Growing moves no items, and at most one chunk is unused, while up to
// half of a vector is.
//
// Memory: memory_bytes(); the first chunk is small, so that short lists stay small. Threads: one
// owner.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace gannet {

template <typename T>
class Chunks {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Chunks() = default;
  Chunks(const Chunks&) = delete;

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  uint64_t memory_bytes() const { return memory_bytes_; }

  void Add(const T& item) { *Extend(1) = item; }
  // Adds `count` adjacent items, for the caller to write.
  T* Extend(size_t count) {
    if (static_cast<size_t>(end_ - next_) < count) Grow(count);
    T* const items = next_;
    next_ += count;
    size_ += count;
    return items;
  }
  // REQUIRES: !empty()
  T& back() { return next_[-1]; }

  // The chunks in order; the items of each are adjacent.
  size_t chunk_count() const { return chunks_.size(); }
  std::span<const T> chunk(size_t i) const {
    const Chunk& chunk = chunks_[i];
    return {chunk.items.get(),
            i + 1 < chunks_.size() ? chunk.used : static_cast<size_t>(next_ - chunk.items.get())};
  }

  // Iterates over all items.
  class Cursor {
   public:
    explicit Cursor(const Chunks& chunks) : chunks_(&chunks) {}
    // REQUIRES: called at most size() times
    const T& Next() {
      while (at_ == chunk_.size()) {
        chunk_ = chunks_->chunk(next_chunk_++);
        at_ = 0;
      }
      return chunk_[at_++];
    }

   private:
    const Chunks* chunks_;
    std::span<const T> chunk_;
    size_t at_ = 0, next_chunk_ = 0;
  };

 private:
  static constexpr size_t kFirstItems = std::max<size_t>(1, 256 / sizeof(T)),
                          kItemsMax = (256 << 10) / sizeof(T);
  struct Chunk {
    std::unique_ptr<T[]> items;
    size_t used;  // set once another chunk follows
  };

  void Grow(size_t count) {
    const size_t wanted =
        chunks_.empty() ? kFirstItems : std::min(std::max(size_, kFirstItems), kItemsMax);
    const size_t items = std::max(count, wanted);
    Chunk chunk{std::make_unique_for_overwrite<T[]>(items), 0};
    chunks_.reserve(chunks_.size() + 1);
    if (!chunks_.empty())
      chunks_.back().used = static_cast<size_t>(next_ - chunks_.back().items.get());
    next_ = chunk.items.get();
    end_ = next_ + items;
    chunks_.push_back(std::move(chunk));
    memory_bytes_ += items * sizeof(T);
  }

  std::vector<Chunk> chunks_;
  T *next_ = nullptr, *end_ = nullptr;  // free items of the last chunk
  size_t size_ = 0;
  uint64_t memory_bytes_ = 0;
};

}  // namespace gannet
