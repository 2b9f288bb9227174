// A pool of threads that run closures.
//
// Among idle threads, the one that worked last takes the next closure: its memory is in the caches
// of a processor, and the memory of the others can stay cold.
//
// A pool has more threads than `busy` only if those in between may start late: work passed to Run
// takes any thread, while helpers (RunIfIdle) take a thread only while fewer than `busy` work.
//
// Threads: any. A pool and its threads live until the process ends.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "base/cache_line.h"

namespace gannet {

class ThreadPool {
 public:
  // begin: what each thread does first, such as setting how it is scheduled (base/scheduling.h).
  ThreadPool(uint32_t threads, std::function<void()> begin) : ThreadPool(threads, threads, begin) {}
  ThreadPool(uint32_t threads, uint32_t busy, std::function<void()> begin);
  void Run(std::function<void()> work);
  // The same if fewer than `busy` threads work. False: `work` is not run.
  bool RunIfIdle(std::function<void()> work);
  // Whether work waits for a thread, or more than `busy` threads work. Takes no lock: helpers call
  // it before each iteration.
  bool HasWaiting() const { return waiting_.load(std::memory_order_relaxed); }
  // The number of idle threads.
  size_t IdleThreads();

 private:
  struct Worker {
    std::condition_variable ready;
    bool woken = false;
  };

  void Work();
  // The idle thread that worked last, for the caller to wake; null: none is idle. REQUIRES: mutex_
  // is held
  Worker* TakeIdle();
  // Call after a change of queue_, idle_ or woken_. REQUIRES: mutex_ is held
  void NoteWaiting() {
    waiting_.store(queue_.size() > woken_ || threads_ - idle_.size() > busy_,
                   std::memory_order_relaxed);
  }
  const uint32_t threads_, busy_;
  std::atomic<bool> waiting_{false};
  alignas(kCacheLine) std::mutex mutex_;  // guards the members below
  std::deque<std::function<void()>> queue_;
  std::vector<Worker*> idle_;  // in the order in which they became idle
  size_t woken_ = 0;           // threads woken that have not looked for work yet
};

}  // namespace gannet
