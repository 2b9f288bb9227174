// A mutex for work that may take long: a thread that waits for it can be stopped.
//
// std::timed_mutex would do, but waits with pthread_mutex_clocklock, which is younger than the
// glibc that a release promises (src/tools/release/portable.mjs).
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/stop_point.h"

namespace gannet {

// For std::lock_guard and std::unique_lock.
class StoppableMutex {
 public:
  // Throws Stopped, and then does not hold it.
  void lock() {
    std::unique_lock guard(guard_);
    while (held_) {
      freed_.wait_for(guard, kPollInterval);
      if (!held_) break;
      guard.unlock();
      StopPoint();
      guard.lock();
    }
    held_ = true;
  }
  void unlock() {
    const std::lock_guard guard(guard_);
    held_ = false;
    freed_.notify_one();
  }

 private:
  static constexpr std::chrono::milliseconds kPollInterval{1};
  std::mutex guard_;  // guards held_; held for moments
  std::condition_variable freed_;
  bool held_ = false;
};

}  // namespace gannet
