#include "base/stop_point.h"

#include <time.h>

namespace gannet {
namespace {

using TimePoint = StopConditions::Clock::time_point;

// The steady clock as of the kernel's last tick, at most some 4 ms ago. Reading it costs a fifth of
// an exact reading, and a search reads it at each StopPoint.
TimePoint LastTick() {
  timespec tick;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &tick);
  return TimePoint(std::chrono::seconds(tick.tv_sec) + std::chrono::nanoseconds(tick.tv_nsec));
}

}  // namespace
namespace stop_internal {

thread_local constinit const StopConditions* current = nullptr;

void Check(const StopConditions& conditions) {
  if (conditions.probe != nullptr) (*conditions.probe)();
  if (conditions.cancelled != nullptr && conditions.cancelled->load(std::memory_order_relaxed))
    throw Stopped{StopReason::kCancelled};
  const TimePoint now = LastTick();
  if (now >= conditions.end) throw Stopped{StopReason::kOverdue};
  if (conditions.closing != nullptr && now >= conditions.grace_end &&
      conditions.closing->load(std::memory_order_relaxed))
    throw Stopped{StopReason::kClosed};
  if (now >= conditions.step_end) throw Stopped{StopReason::kStepOver};
}

}  // namespace stop_internal

Status StatusOf(const Stopped& stopped) {
  if (stopped.reason == StopReason::kClosed)
    return Status::Invalid("The index was deleted meanwhile.", "index_not_found");
  if (stopped.reason != StopReason::kOverdue)
    return Status::Cancelled("nobody waits for the response");
  return Status::Invalid(
      "The request takes longer than allowed; ask for fewer hits, attributes or facets.",
      "bad_request");
}

}  // namespace gannet
