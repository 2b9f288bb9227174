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

// Has a thread that is idle run `work`; false, and it is not run: there is none.
using AskHelper = std::function<bool(std::function<void()> work)>;
// Not while ForEachPiece runs. Null, as at first: there are none.
void SetHelpers(AskHelper ask);

// Calls piece(size_t i) for each i below `count`, in any order, on this thread and on those that help; then returns. Calls on
// different threads run at the same time. Worth while from some 0.5 ms of work on: to wake a thread takes a tenth of that.
void ForEachPiece(size_t count, const std::function<void(size_t)>& piece);

}  // namespace gannet
