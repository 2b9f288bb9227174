// How long-running work checks whether it should continue.
//
// A request's work runs within RunStoppable. Every loop whose length a request or a document
// determines calls StopPoint at least every few milliseconds, or counts its steps with a
// StopCounter. When nobody waits for the outcome any more, or the work takes longer than it may,
// StopPoint throws, and RunStoppable turns that into a status. This is the only code of ours that
// throws: memory may run out anywhere, so all of it can be unwound anyway, and no function between
// the loop and the request has to pass a status on.
//
// A search also has a deadline after which it ranks no further (base/deadline.h). Code that checks
// the deadline itself keeps its partial result. A step whose partial result is worthless runs
// within RunUntil.
//
// Data kept beyond a request, in caches, is stored only once it is complete.
//
// Threads: conditions belong to a thread. ParallelFor passes them on to its helpers.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "base/status.h"

namespace gannet {

// When work stops. The objects that the pointers refer to must outlive the work.
struct StopConditions {
  using Clock = std::chrono::steady_clock;

  const std::atomic<bool>* cancelled = nullptr;  // true: work stops; null: never
  const std::atomic<bool>* closing = nullptr;    // true: work stops at `grace_end`; null: never
  Clock::time_point grace_end = Clock::time_point::max();
  Clock::time_point end = Clock::time_point::max();
  Clock::time_point step_end = Clock::time_point::max();  // see RunUntil
  // Called at each StopPoint. Tests use it to measure the work between two of them, and to stop
  // work anywhere.
  const std::function<void()>* probe = nullptr;
};

enum class StopReason : uint8_t { kCancelled, kClosed, kOverdue, kStepOver };

// Thrown by StopPoint. Not a std::exception: code that catches those when memory runs out must let
// it pass.
struct Stopped {
  StopReason reason;
};

namespace stop_internal {

extern thread_local constinit const StopConditions* current;  // null: nothing stops the work
void Check(const StopConditions& conditions);                 // throws Stopped

}  // namespace stop_internal

// Throws when the work of this thread must stop, up to 4 ms late. Takes some 10 ns.
inline void StopPoint() {
  if (stop_internal::current != nullptr) stop_internal::Check(*stop_internal::current);
}

// Calls StopPoint after every 20 us of steps.
class StopCounter {
 public:
  // One step takes some nanoseconds.
  void Step(uint64_t steps = 1) {
    steps_ += steps;
    if (steps_ >= kSteps) [[unlikely]] {
      steps_ = 0;
      StopPoint();
    }
  }

 private:
  static constexpr uint64_t kSteps = 8192;
  uint64_t steps_ = 0;
};

// Sets the conditions of this thread for its lifetime.
class StopScope {
 public:
  // null: nothing stops the work
  explicit StopScope(const StopConditions* conditions)
      : before_(std::exchange(stop_internal::current, conditions)) {}
  ~StopScope() { stop_internal::current = before_; }
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;

  static const StopConditions* Current() { return stop_internal::current; }

 private:
  const StopConditions* before_;
};

// The status of stopped work: Cancelled when nobody waits for it, Invalid (`index_not_found`) when
// its index is closing, Invalid (`bad_request`) when it took too long.
Status StatusOf(const Stopped& stopped);

// work  returns a Status or a Result
template <typename Work>
auto RunStoppable(const StopConditions& conditions, Work&& work) -> decltype(work()) {
  const StopScope scope(&conditions);
  try {
    return work();
  } catch (const Stopped& stopped) {
    return StatusOf(stopped);
  }
}

// Calls work(), which stops at `end` as well. False: `end` came first.
template <typename Work>
bool RunUntil(StopConditions::Clock::time_point end, Work&& work) {
  StopConditions conditions;
  if (StopScope::Current() != nullptr) conditions = *StopScope::Current();
  conditions.step_end = std::min(conditions.step_end, end);
  const StopScope scope(&conditions);
  try {
    work();
  } catch (const Stopped& stopped) {
    if (stopped.reason != StopReason::kStepOver) throw;
    return false;
  }
  return true;
}

// While a guard exists, RunUntil does not stop the work. For work that must be completed once
// begun, such as filling the caches of a query.
class StepGuard {
 public:
  StepGuard() : scope_(&conditions_) {}

 private:
  static StopConditions WithoutStepEnd() {
    StopConditions conditions;
    if (StopScope::Current() != nullptr) conditions = *StopScope::Current();
    conditions.step_end = StopConditions::Clock::time_point::max();
    return conditions;
  }
  StopConditions conditions_ = WithoutStepEnd();
  StopScope scope_;
};

}  // namespace gannet
