// The largest of some numbers, as the floor of a search for the nearest vectors.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace gannet::search {

// The `count` largest of the numbers given; only the smallest of these can be read.
class Greatest {
 public:
  explicit Greatest(size_t count) : count_(count) {}

  void Add(float value) {
    if (heap_.size() < count_) {
      heap_.push_back(value);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    } else if (value > heap_.front()) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.back() = value;
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
  }
  // -1: fewer than `count` numbers so far.
  float smallest() const { return heap_.size() < count_ ? -1 : heap_.front(); }

 private:
  size_t count_;
  std::vector<float> heap_;
};

}  // namespace gannet::search
