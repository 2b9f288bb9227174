// A vector that grows without copying: its elements are stored in blocks of equal size.
//
// For large collections: while it grows, a std::vector takes up to three times the bytes of its
// elements.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace gannet {

template <typename T>
class BlockVector {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T& operator[](size_t i) { return blocks_[i >> kShift][i & kMask]; }
  const T& operator[](size_t i) const { return blocks_[i >> kShift][i & kMask]; }
  void push_back(const T& value) {
    if ((size_ & kMask) == 0 && size_ >> kShift == blocks_.size()) {
      blocks_.push_back(std::make_unique_for_overwrite<T[]>(kMask + 1));
    }
    blocks_[size_ >> kShift][size_ & kMask] = value;
    ++size_;
  }

 private:
  static constexpr size_t kShift = 12, kMask = (size_t{1} << kShift) - 1;
  std::vector<std::unique_ptr<T[]>> blocks_;
  size_t size_ = 0;
};

}  // namespace gannet
