#include "base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <random>
#include <thread>
#include <vector>

#include "test_seed.h"

namespace gannet {
namespace {

// A pool lives until the process ends.
ThreadPool& NewPool(uint32_t threads) {
  return *new ThreadPool(threads, [] {});
}

void AwaitIdle(ThreadPool& pool, size_t threads) {
  while (pool.IdleThreads() != threads) std::this_thread::yield();
}

// Work that runs until it is released.
class Held {
 public:
  explicit Held(ThreadPool& pool) {
    std::promise<void> begun;
    pool.Run([this, &begun] {
      thread_ = std::this_thread::get_id();
      begun.set_value();
      end_.get_future().wait();
      ended_.set_value();
    });
    begun.get_future().wait();
  }
  std::thread::id thread() const { return thread_; }
  void End() {
    end_.set_value();
    ended_.get_future().wait();
  }

 private:
  std::thread::id thread_;
  std::promise<void> end_, ended_;
};

TEST(ThreadPool, RunsEverythingOnce) {
  std::mt19937_64 random(TestSeed());
  ThreadPool& pool = NewPool(4);
  constexpr int kCount = 20'000;
  std::vector<std::atomic<int>> runs(kCount);
  std::atomic<int> left{kCount};
  const auto work = [&](int i) {
    ++runs[i];
    --left;
  };
  std::vector<std::thread> senders;
  for (int sender = 0; sender < 2; ++sender) {
    senders.emplace_back([&, sender, seed = random()] {
      std::mt19937_64 own(seed);
      for (int i = sender; i < kCount; i += 2) {
        if (own() % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 50));
        if (own() % 2 != 0 || !pool.RunIfIdle([&, i] { work(i); })) pool.Run([&, i] { work(i); });
      }
    });
  }
  for (std::thread& sender : senders) sender.join();
  while (left > 0) std::this_thread::yield();
  for (const auto& count : runs) ASSERT_EQ(count, 1);
}

TEST(ThreadPool, TheThreadThatWorkedLastTakesTheNextWork) {
  ThreadPool& pool = NewPool(3);
  Held a(pool), b(pool), c(pool);
  b.End();
  AwaitIdle(pool, 1);
  c.End();
  AwaitIdle(pool, 2);
  a.End();
  for (int i = 0; i < 3; ++i) {
    AwaitIdle(pool, 3);
    Held again(pool);
    EXPECT_EQ(again.thread(), a.thread());
    again.End();
  }
  AwaitIdle(pool, 3);
  Held first(pool), second(pool), third(pool);
  EXPECT_EQ(first.thread(), a.thread());
  EXPECT_EQ(second.thread(), c.thread());
  EXPECT_EQ(third.thread(), b.thread());
  first.End();
  second.End();
  third.End();
  AwaitIdle(pool, 3);
}

TEST(ThreadPool, ReportsWhetherAThreadIsIdleAndWorkWaits) {
  ThreadPool& pool = NewPool(2);
  Held first(pool), second(pool);
  EXPECT_FALSE(pool.HasWaiting());
  EXPECT_FALSE(pool.RunIfIdle([] { FAIL() << "nobody was idle"; }));
  EXPECT_FALSE(pool.HasWaiting());
  std::promise<void> ran;
  pool.Run([&] { ran.set_value(); });
  EXPECT_TRUE(pool.HasWaiting());
  first.End();
  ran.get_future().wait();
  second.End();
  AwaitIdle(pool, 2);
  EXPECT_FALSE(pool.HasWaiting());
  EXPECT_TRUE(pool.RunIfIdle([] {}));
  AwaitIdle(pool, 2);
}

TEST(ThreadPool, HelpersTakeNoneOfTheThreadsBeyondThoseThatAreToBeBusy) {
  ThreadPool& pool = *new ThreadPool(4, 2, [] {});
  AwaitIdle(pool, 4);
  Held first(pool);
  EXPECT_FALSE(pool.HasWaiting());
  std::promise<void> left;
  EXPECT_TRUE(pool.RunIfIdle([&] { left.get_future().wait(); }));
  EXPECT_FALSE(pool.RunIfIdle([] { FAIL() << "two work already"; }));
  EXPECT_FALSE(pool.HasWaiting());
  // It waits for none of them, and the helper is asked to leave.
  Held second(pool);
  EXPECT_TRUE(pool.HasWaiting());
  left.set_value();
  AwaitIdle(pool, 2);
  EXPECT_FALSE(pool.HasWaiting());
  Held third(pool), fourth(pool);
  EXPECT_TRUE(pool.HasWaiting());
  for (Held* one : {&first, &second, &third, &fourth}) one->End();
  AwaitIdle(pool, 4);
  EXPECT_FALSE(pool.HasWaiting());
}

}  // namespace
}  // namespace gannet
