// A point in time after which long work stops where it is.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

namespace gannet {

// Set, from any thread, once nobody waits for the outcome of some work any more. null: the work is
// never cancelled.
using CancelFlag = std::shared_ptr<const std::atomic<bool>>;

// Threads: one owner.
class Deadline {
 public:
  // milliseconds: capped at a year, so that the clock does not overflow.
  // cancelled: once set, the deadline has passed
  static Deadline In(uint64_t milliseconds, CancelFlag cancelled = nullptr) {
    constexpr uint64_t kYear = uint64_t{365} * 24 * 60 * 60 * 1000;
    return Deadline(
        std::chrono::steady_clock::now() + std::chrono::milliseconds(std::min(milliseconds, kYear)),
        std::move(cancelled));
  }
  std::chrono::steady_clock::time_point at() const { return at_; }
  // Whether nobody waits for the outcome any more.
  bool Cancelled() const { return cancelled_ && cancelled_->load(std::memory_order_relaxed); }
  // Reads the clock; about 25 ns. Once passed, it stays passed.
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
