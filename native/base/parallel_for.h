// A loop whose iterations are shared with idle threads.
//
// A search runs on one thread. Loops of some milliseconds, such as reading thousands of forward
// records, end sooner if idle threads help. The calling thread never waits for a helper to start:
// it runs iterations itself, and a helper takes iterations that have not begun.
//
// Threads: any thread may call ParallelFor, including helpers.
#pragma once

#include <cstddef>
#include <functional>

namespace gannet {

struct Helpers {
  // Hands `work` to an idle thread. False: no thread is idle, and `work` is not run. Null (the
  // initial state): there are no helpers.
  std::function<bool(std::function<void()> work)> offer;
  // Whether other work waits for a thread. If so, a helper leaves before its next iteration.
  std::function<bool()> wanted;
};
// Sets the helpers of the process. REQUIRES: no ParallelFor runs.
void SetHelpers(Helpers helpers);

// Calls body(i) for every i below `count`, in any order, and returns when all calls have ended.
// body    called by this thread and by helpers at the same time; whatever stops this thread
//         (base/stop_point.h) stops helpers as well, and is checked before each call
// If a call throws, no further call begins, and the exception is rethrown here once the calls that
// have begun have ended.
// Cost: waking a helper takes some 50 us, so use it for at least 0.5 ms of work.
void ParallelFor(size_t count, const std::function<void(size_t)>& body);

}  // namespace gannet
