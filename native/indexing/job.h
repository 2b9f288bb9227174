// One batch of work on one index: from the job description to one commit.
//
// Steps:
// 1. operations.cc collects the changes of each step, document by document, and drops steps with
//    errors.
// 2. Every changed document gets its docid.
// 3. Workers make rows, words and columns and flush segments as their memory budget fills.
// 4. One commit makes all of it durable and visible.
//
// Threads: one job per index at a time; it starts its own workers.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "index/index.h"
#include "indexing/job/batch_job.h"
#include "segment/file.h"

namespace gannet::indexing {

class EmbedCalls;

struct JobOptions {
  uint32_t threads = 1;
  uint64_t memory_bytes = uint64_t{256} << 20;  // for all workers together
  EmbedCalls* embed_calls = nullptr;            // null: no embeddings are made
  uint64_t segment_bytes_max = segment::kSegmentBytesMax;
};

// The current state of a job, for other threads.
class Progress {
 public:
  struct Step {
    const char* name;
    uint64_t finished, total;
  };
  void Begin(const char* name, uint64_t total);
  void Advance(uint64_t count = 1) { finished_.fetch_add(count, std::memory_order_relaxed); }
  Step step() const;
  // Cancelled once `cancelled` is set, else ok.
  Status Health() const {
    return cancelled.load(std::memory_order_relaxed) ? Status::Cancelled("The batch was stopped.")
                                                     : Status::Ok();
  }

  std::atomic<bool> cancelled{false};

 private:
  std::atomic<const char*> name_{"preparing payloads"};
  std::atomic<uint64_t> finished_{0}, total_{0};
};

// Evaluates a filter (JSON text) over a snapshot. The caller provides it, so that indexing does not
// depend on filters.
using FilterEvaluator =
    std::function<Result<DocSet>(const index::Snapshot&, std::string_view filter_json)>;

// Runs a batch and returns the JSON of BatchOutcome (src/engine/native.ts). An error means that the
// whole batch failed and changed nothing; Cancelled: it was stopped.
// payloads  the buffers that the job names
Result<std::string> RunBatch(index::Index& index, const BatchJob& job,
                             std::span<const std::string_view> payloads, const JobOptions& options,
                             const FilterEvaluator& evaluate_filter, Progress& progress);

}  // namespace gannet::indexing
