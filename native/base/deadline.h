// A point in time after which long work stops where it is.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace gannet {

class Deadline {
 public:
  // More than a year is a year: the clock must not overflow.
  static Deadline In(uint64_t milliseconds) {
    constexpr uint64_t kYear = uint64_t{365} * 24 * 60 * 60 * 1000;
    return Deadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(std::min(milliseconds, kYear)));
  }
  // Asks the clock; about 25 ns. Once passed, it stays passed.
  bool Passed() {
    if (!passed_) passed_ = std::chrono::steady_clock::now() >= at_;
    return passed_;
  }

 private:
  explicit Deadline(std::chrono::steady_clock::time_point at) : at_(at) {}
  std::chrono::steady_clock::time_point at_;
  bool passed_ = false;
};

}  // namespace gannet
