#include "base/parallel_for.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "base/stage_clock.h"
#include "test_seed.h"

namespace gannet {
namespace {

// Threads that help, some of them late.
class Threads {
 public:
  explicit Threads(size_t count) {
    for (size_t i = 0; i < count; ++i)
      threads_.emplace_back([this, seed = TestSeed() + i] { Work(seed); });
  }
  ~Threads() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    ready_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  // Now and then other work wants a thread.
  Helpers helpers() {
    return {.offer = [this](std::function<void()> work) { return Offer(std::move(work)); },
            .wanted = [this] { return wanted_calls_.fetch_add(1) % 7 == 3; }};
  }
  bool Offer(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    if (closed_ || queue_.size() >= threads_.size()) return false;
    queue_.push_back(std::move(work));
    ready_.notify_one();
    return true;
  }
  // Whether all requested work has been done.
  bool Idle() {
    const std::lock_guard lock(mutex_);
    return queue_.empty() && busy_ == 0;
  }

 private:
  void Work(uint64_t seed) {
    std::mt19937_64 random(seed);
    for (;;) {
      std::function<void()> work;
      {
        std::unique_lock lock(mutex_);
        ready_.wait(lock, [this] { return closed_ || !queue_.empty(); });
        if (closed_) return;
        work = std::move(queue_.front());
        queue_.pop_front();
        ++busy_;
      }
      if (random() % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 200));
      work();
      const std::lock_guard lock(mutex_);
      --busy_;
    }
  }

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
  size_t busy_ = 0;
  std::atomic<uint64_t> wanted_calls_{0};
  bool closed_ = false;
};

TEST(ParallelFor, EachIterationRunsOnceHoweverLateHelpersCome) {
  std::mt19937_64 random(TestSeed());
  // Zero helpers come first.
  for (const size_t helpers : {0, 1, 2, 5}) {
    Threads threads(helpers);
    SetHelpers(threads.helpers());
    std::atomic<size_t> helped = 0;
    for (int round = 0; round < 500; ++round) {
      const size_t count = random() % 20;
      std::vector<std::atomic<int>> done(count);
      const auto caller = std::this_thread::get_id();
      std::atomic<uint64_t> worked_ns = 0;
      const uint64_t before_ns = ProcessorNanoseconds();
      ParallelFor(count, [&](size_t i) {
        const uint64_t begin_ns = ProcessorNanoseconds();
        if (std::this_thread::get_id() != caller) ++helped;
        if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
        ++done[i];
        worked_ns += ProcessorNanoseconds() - begin_ns;
      });
      // The work of helpers counts as that of the caller.
      EXPECT_GE(ProcessorNanoseconds() - before_ns, worked_ns.load());
      for (const auto& times : done) ASSERT_EQ(times.load(), 1);
    }
    EXPECT_EQ(helped > 0, helpers > 0);
    while (!threads.Idle()) std::this_thread::yield();
    SetHelpers({});
  }
}

TEST(ParallelFor, AnExceptionIsRethrownOnceNoIterationRuns) {
  std::mt19937_64 random(TestSeed());
  for (const size_t helpers : {0, 1, 3}) {
    Threads threads(helpers);
    SetHelpers(threads.helpers());
    for (int round = 0; round < 300; ++round) {
      const size_t count = 1 + random() % 20, bad = random() % count;
      std::atomic<size_t> running = 0;
      std::atomic<bool> over = false, late = false;
      const auto all = [&] {
        ParallelFor(count, [&](size_t i) {
          ++running;
          if (over) late = true;
          if (i % 3 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
          --running;
          if (i == bad) throw std::bad_alloc();
        });
      };
      EXPECT_THROW(all(), std::bad_alloc);
      EXPECT_EQ(running, 0u);
      over = true;
      while (!threads.Idle()) std::this_thread::yield();
      EXPECT_FALSE(late);
    }
    SetHelpers({});
  }
}

TEST(ParallelFor, WithoutMemoryNobodyHelps) {
  SetHelpers({.offer = [](std::function<void()>) -> bool { throw std::bad_alloc(); },
              .wanted = [] { return false; }});
  size_t done = 0;
  ParallelFor(5, [&](size_t) { ++done; });
  EXPECT_EQ(done, 5u);
  SetHelpers({});
}

TEST(ParallelFor, AHelperMayGetHelp) {
  Threads threads(2);
  SetHelpers(threads.helpers());
  std::atomic<size_t> done = 0;
  for (int round = 0; round < 200; ++round) {
    ParallelFor(4, [&](size_t) { ParallelFor(5, [&](size_t) { ++done; }); });
  }
  EXPECT_EQ(done, 200u * 4 * 5);
  while (!threads.Idle()) std::this_thread::yield();
  SetHelpers({});
}

}  // namespace
}  // namespace gannet
