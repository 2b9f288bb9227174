// Graphs over vectors: built for large segments in the background, after a batch or a merge has
// written one without.
//
// Threads: one at a time per index, concurrent with jobs, merges and searches. It has no effect if
// its segment is no longer there at the end.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "base/status.h"
#include "index/index.h"
#include "segment/graphs.h"
#include "vector/graph.h"

namespace gannet::indexing {

// The largest segment that should have graphs and has none; nullopt: there is none.
std::optional<SegmentId> PlanGraphs(const index::Snapshot& snapshot,
                                    uint32_t rows_min = segment::kGraphRowsMin);

struct GraphOptions {
  uint32_t threads = 1;
  uint32_t rows_min = segment::kGraphRowsMin;
  vector::GraphParameters parameters;
};

// Builds the graphs of a segment and commits them.
// Errors: Cancelled if `cancelled` was set or the segment is no longer there; Corruption if it is
// damaged; Full, Io. The index is then unchanged.
Status BuildGraphs(index::Index& index, SegmentId segment, const GraphOptions& options,
                   const std::atomic<bool>& cancelled);

}  // namespace gannet::indexing
