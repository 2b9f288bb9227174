#include "base/thread_pool.h"

#include <thread>
#include <utility>

#include "base/block_pool.h"

namespace gannet {

ThreadPool::ThreadPool(uint32_t threads, uint32_t busy, std::function<void()> begin)
    : threads_(threads), busy_(busy) {
  idle_.reserve(threads);
  for (uint32_t i = 0; i < threads; ++i) {
    std::thread([this, begin] {
      begin();
      Work();
    }).detach();
  }
}

void ThreadPool::Run(std::function<void()> work) {
  Worker* worker;
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(work));
    worker = TakeIdle();
    NoteWaiting();
  }
  if (worker != nullptr) worker->ready.notify_one();
}

bool ThreadPool::RunIfIdle(std::function<void()> work) {
  Worker* worker;
  {
    const std::lock_guard lock(mutex_);
    if (idle_.empty() || threads_ - idle_.size() >= busy_) return false;
    queue_.push_back(std::move(work));
    worker = TakeIdle();
    NoteWaiting();
  }
  worker->ready.notify_one();
  return true;
}

size_t ThreadPool::IdleThreads() {
  const std::lock_guard lock(mutex_);
  return idle_.size();
}

ThreadPool::Worker* ThreadPool::TakeIdle() {
  if (idle_.empty()) return nullptr;
  Worker* worker = idle_.back();
  idle_.pop_back();
  worker->woken = true;
  ++woken_;
  return worker;
}

void ThreadPool::Work() {
  Worker self;  // lives as long as the process
  for (;;) {
    std::function<void()> work;
    {
      std::unique_lock lock(mutex_);
      while (queue_.empty()) {
        self.woken = false;
        idle_.push_back(&self);
        NoteWaiting();
        self.ready.wait(lock, [&] { return self.woken; });
        --woken_;
      }
      work = std::move(queue_.front());
      queue_.pop_front();
      NoteWaiting();
    }
    work();
    work = nullptr;
    RefreshPool();
  }
}

}  // namespace gannet
