// Work in pieces that idle threads share.
//
// A search runs on one thread. Where others stand idle, what takes it milliseconds - reading thousands of records, joining
// thousands of lists - is done sooner with their help. Nobody waits for a helper to come: the thread that asks works off the
// pieces itself, and who comes takes what is left.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <functional>

namespace gannet {

struct Helpers {
  // Has a thread that is idle run `work`; false, and it is not run: there is none. Null, as at first: there are none.
  std::function<bool(std::function<void()> work)> ask;
  // Whether other work waits for a thread: who helps leaves between two pieces.
  std::function<bool()> wanted;
};
// Not while ParallelFor runs.
void SetHelpers(Helpers helpers);

// Calls body(size_t i) for each i below `count`, in any order, on this thread and on those that help; then returns. Calls on
// different threads run at the same time. Worth while from some 0.5 ms of work on: to wake a thread takes a tenth of that.
// What a body throws is thrown here when no other runs any more; then some were not called.
void ParallelFor(size_t count, const std::function<void(size_t)>& body);

}  // namespace gannet
