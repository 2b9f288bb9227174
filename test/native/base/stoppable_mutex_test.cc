#include "base/stoppable_mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"

namespace gannet {
namespace {

Status LockOnce(StoppableMutex& mutex) {
  const std::lock_guard lock(mutex);
  return Status::Ok();
}

TEST(StoppableMutex, HasOneHolder) {
  StoppableMutex mutex;
  constexpr uint64_t kTimes = 20'000;
  uint64_t count = 0;
  const auto work = [&] {
    for (uint64_t i = 0; i < kTimes; ++i) {
      const std::lock_guard lock(mutex);
      ++count;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 4 * kTimes);
}

TEST(StoppableMutex, LetsAWaitingThreadBeStopped) {
  StoppableMutex mutex;
  std::unique_lock held(mutex);
  std::atomic<bool> cancelled{false};
  std::atomic<uint32_t> looked{0};
  const std::function<void()> look = [&] { ++looked; };
  std::thread waiting([&] {
    StopConditions conditions;
    conditions.cancelled = &cancelled;
    conditions.probe = &look;
    EXPECT_EQ(RunStoppable(conditions, [&] { return LockOnce(mutex); }).code(),
              StatusCode::kCancelled);
  });
  while (looked < 3) std::this_thread::yield();
  cancelled = true;
  waiting.join();
  held.unlock();
  EXPECT_TRUE(LockOnce(mutex).ok());
}

TEST(StoppableMutex, IsFreeAfterItsHolderHasBeenStopped) {
  StoppableMutex mutex;
  const std::atomic<bool> cancelled{true};
  StopConditions conditions;
  conditions.cancelled = &cancelled;
  const auto work = [&] {
    const std::lock_guard lock(mutex);
    for (;;) StopPoint();
    return Status::Ok();
  };
  EXPECT_EQ(RunStoppable(conditions, work).code(), StatusCode::kCancelled);
  EXPECT_TRUE(LockOnce(mutex).ok());
}

}  // namespace
}  // namespace gannet
