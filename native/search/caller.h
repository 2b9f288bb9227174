// The client that waits for a response.
#pragma once

#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "base/deadline.h"

namespace gannet::search {

// What a search knows about its caller, apart from the request.
struct Caller {
  // started    monotonic time, in microseconds, at which the addon was called: the wait for a
  //            permit (src/search/search-queue.ts) is not included
  // cancel     set once the search is cancelled because nobody waits for the response
  Caller(uint64_t started, CancelFlag cancel = nullptr)
      : started_us(started), cancelled(std::move(cancel)) {}  // NOLINT: implicit

  uint64_t elapsed_ms() const { return (MonotonicMicroseconds() - started_us) / 1000; }

  uint64_t started_us;
  CancelFlag cancelled;
};

}  // namespace gannet::search
