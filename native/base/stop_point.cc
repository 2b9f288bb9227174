#include "base/stop_point.h"

namespace gannet {
namespace stop_internal {

thread_local constinit const StopConditions* current = nullptr;

void Check(const StopConditions& conditions) {
  if (conditions.probe != nullptr) (*conditions.probe)();
  if (conditions.gone != nullptr && conditions.gone->load(std::memory_order_relaxed))
    throw Stopped{StopReason::kGone};
  const auto now = StopConditions::Clock::now();
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
    return Status::Cancelled("nobody waits for the answer");
  return Status::Invalid(
      "The answer takes longer than a request may; ask for fewer hits, attributes or facets.",
      "bad_request");
}

}  // namespace gannet
