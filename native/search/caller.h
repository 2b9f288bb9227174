// Who waits for an answer.
#pragma once

#include <cstdint>
#include <utility>

#include "base/clock.h"
#include "base/deadline.h"

namespace gannet::search {

// What a search is told besides its request.
struct Caller {
  // started_us  monotonic time at which the request came in
  // gone        set once nobody waits for the answer any more
  Caller(uint64_t started, CancelFlag gone_flag = nullptr)
      : started_us(started), gone(std::move(gone_flag)) {}  // NOLINT: implicit

  uint64_t elapsed_ms() const { return (MonotonicMicroseconds() - started_us) / 1000; }

  uint64_t started_us;
  CancelFlag gone;
};

}  // namespace gannet::search
