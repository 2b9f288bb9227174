// A point in time after which long work stops where it is.
#pragma once

#include <chrono>
#include <cstdint>

namespace gannet {

class Deadline {
 public:
  static Deadline In(uint64_t milliseconds) {
    return Deadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds));
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
