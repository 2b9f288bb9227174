// Closures on threads of its own.
//
// Of several threads that have nothing to do, the one that worked last takes what comes: its memory
// is in the caches of a processor, and that of the others can rest.
//
// Threads: any. A pool and its threads stay until the process ends.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

namespace gannet {

class ThreadPool {
 public:
  // begin: what each thread does first, such as to tell how it wants to be scheduled
  // (base/scheduling.h).
  ThreadPool(uint32_t threads, std::function<void()> begin);
  void Run(std::function<void()> work);
  // The same where a thread has nothing to do. False, and nothing is done: none has.
  bool RunIfIdle(std::function<void()> work);
  // Whether work waits for a thread.
  bool HasWaiting();
  // Threads that have nothing to do.
  size_t IdleThreads();

 private:
  struct Worker {
    std::condition_variable ready;
    bool woken = false;
  };

  void Work();
  // The idle thread that worked last, which is to be woken; null: all have work. REQUIRES: mutex_
  // is held
  Worker* TakeIdle();
  std::mutex mutex_;  // guards what follows
  std::deque<std::function<void()>> queue_;
  std::vector<Worker*> idle_;  // in the order in which they ran out of work
  size_t woken_ = 0;           // threads that have not looked for work since
};

}  // namespace gannet
