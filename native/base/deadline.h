// A point in time after which long work stops where it is.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

namespace gannet {

// Set, from any thread, once nobody waits for the outcome of some work any more. null: nobody ever
// says so.
using CancelFlag = std::shared_ptr<const std::atomic<bool>>;

// One thread.
class Deadline {
 public:
  // More than a year is a year: the clock must not overflow.
  // cancelled  when set, the time is over at once
  static Deadline In(uint64_t milliseconds, CancelFlag cancelled = nullptr) {
    constexpr uint64_t kYear = uint64_t{365} * 24 * 60 * 60 * 1000;
    return Deadline(
        std::chrono::steady_clock::now() + std::chrono::milliseconds(std::min(milliseconds, kYear)),
        std::move(cancelled));
  }
  std::chrono::steady_clock::time_point at() const { return at_; }
  // Whether nobody waits any more.
  bool Cancelled() const { return cancelled_ && cancelled_->load(std::memory_order_relaxed); }
  // Asks the clock; about 25 ns. Once passed, it stays passed.
  bool Passed() {
    if (!passed_) passed_ = Cancelled() || std::chrono::steady_clock::now() >= at_;
    return passed_;
  }

 private:
  Deadline(std::chrono::steady_clock::time_point at, CancelFlag cancelled)
      : at_(at), cancelled_(std::move(cancelled)) {}
  std::chrono::steady_clock::time_point at_;
  CancelFlag cancelled_;
  bool passed_ = false;
};

}  // namespace gannet
