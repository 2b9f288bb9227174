#include "base/scheduling.h"

#include <gtest/gtest.h>

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

namespace gannet {
namespace {

// `struct sched_attr`, first version.
struct Attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};

// The time slice of the calling thread in nanoseconds; 0: the kernel has none per thread.
uint64_t TimeSlice() {
  Attributes attributes{};
  EXPECT_EQ(syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0), 0);
  return attributes.runtime;
}

int Nice() { return getpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid))); }

void OnAThread(void (*test)()) { std::thread(test).join(); }

TEST(Scheduling, AShorterTimeSliceIsNotInherited) {
  OnAThread([] {
    const uint64_t usual = TimeSlice();
    if (usual == 0) GTEST_SKIP() << "the kernel has no time slice per thread";
    SetTimeSlice(kSearchTimeSlice);
    EXPECT_EQ(TimeSlice(), std::chrono::nanoseconds(kSearchTimeSlice).count());
    EXPECT_LT(TimeSlice(), usual);
    static uint64_t of_child;
    OnAThread([] { of_child = TimeSlice(); });
    EXPECT_EQ(of_child, usual);
  });
}

TEST(Scheduling, AShortTimeSliceLeavesTheShareAsItIs) {
  OnAThread([] {
    Yield(3);
    SetTimeSlice(kSearchTimeSlice);
    EXPECT_EQ(Nice(), 3);
  });
}

TEST(Scheduling, TheMainThreadInterruptsOthersButNotASearchAtItsEnd) {
  OnAThread([] {
    const uint64_t usual = TimeSlice();
    if (usual == 0) GTEST_SKIP() << "the kernel has no time slice per thread";
    SetTimeSlice(kMainTimeSlice);
    EXPECT_LT(TimeSlice(), usual);
    EXPECT_GT(TimeSlice(), std::chrono::nanoseconds(kSearchTimeSlice).count());
  });
}

TEST(Scheduling, YieldAffectsOneThreadOnly) {
  const int before = Nice();
  OnAThread([] {
    Yield(7);
    EXPECT_EQ(Nice(), 7);
  });
  EXPECT_EQ(Nice(), before);
}

}  // namespace
}  // namespace gannet

#endif
