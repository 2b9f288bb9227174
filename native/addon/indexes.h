// The open indexes of the process, shared by all JavaScript environments, and the pools they work
// on.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/cache_line.h"
#include "base/thread_pool.h"
#include "base/tuning.h"
#include "index/index.h"
#include "indexing/embed_calls.h"
#include "indexing/job.h"
#include "indexing/merge.h"

namespace gannet::addon {

// Merges run in two lanes, one merge at a time in each: a large merge takes seconds, and meanwhile
// each change leaves a small segment that every search must read.
enum class MergeLane : uint8_t { kAll, kSmall };
inline constexpr std::array kMergeLanes = {MergeLane::kAll, MergeLane::kSmall};

struct OpenIndex {
  OpenIndex(uint32_t number, std::string folder, std::shared_ptr<index::Index> opened)
      : handle(number), dir(std::move(folder)), index(std::move(opened)) {}

  const uint32_t handle;
  const std::string dir;
  const std::shared_ptr<index::Index> index;
  std::mutex batch_mutex;  // one batch at a time
  std::shared_mutex
      structure_mutex;  // shared: a merge; exclusive: a batch that works segment by segment
  indexing::Progress progress;
  std::atomic<bool> running{false};  // a batch is running
  // A batch has run since the last call of MergeAtRest; none has; trifles are merged.
  enum class Rest : uint8_t { kChanged, kUnchanged, kMerged };
  std::atomic<Rest> rest{Rest::kChanged};
  std::mutex embed_mutex;  // guards embed_calls
  std::shared_ptr<indexing::EmbedCalls>
      embed_calls;  // requests of the running batch, if it makes embeddings
  indexing::Merges merges;
  indexing::MergePause pause;  // pause of MergeLane::kAll
  struct LaneState {
    std::atomic<bool> wanted{false}, running{false};
  };
  std::array<LaneState, kMergeLanes.size()> lanes;
  std::atomic<bool> stop_merging{false};
  std::atomic<bool> closing{false};

  LaneState& lane(MergeLane lane) { return lanes[static_cast<size_t>(lane)]; }
  LaneState graphs;  // graphs over vectors being built
  // Whether a merge runs, or graphs are being built.
  bool merging() const {
    return graphs.running || std::any_of(lanes.begin(), lanes.end(),
                                         [](const LaneState& lane) { return lane.running.load(); });
  }
};

struct EngineOptions {
  uint32_t search_threads = 2, indexing_threads = 1;
  uint64_t indexing_memory_bytes = uint64_t{256} << 20;
  Tuning tuning;
};

class Engine {
 public:
  // Lives as long as the process.
  static Engine& Instance();

  void Configure(const EngineOptions& options);
  const EngineOptions& options() const { return options_; }
  ThreadPool& searches() { return *searches_; }
  ThreadPool& batches() { return *batches_; }
  // The pool that applies records of a cluster; batches wait for it, so it is not theirs. The first
  // call makes it, on the JavaScript thread, so that a server without a cluster has none.
  ThreadPool& records();

  Result<uint32_t> Open(const std::string& dir, index::IfAbsent if_absent);
  // Makes Find no longer return the index, and returns at once. When nothing works on the index any
  // more, its files are closed and `done` is called, on any thread.
  void Close(uint32_t handle, std::function<void()> done);
  std::shared_ptr<OpenIndex> Find(uint32_t handle);
  // See BatchMemory.
  std::atomic<uint32_t>& memory_borrowers() { return memory_borrowers_; }
  // Records that a search begins. Call on any thread.
  void NoteSearch() { searches_begun_.fetch_add(1, std::memory_order_relaxed); }
  // Checks, in the background, the parts of the index that are in memory and have not been read
  // yet, so that no search has to.
  void CheckAhead(const OpenIndex& index);
  // Merges in the background until nothing is left to merge. Does nothing if another process leads.
  void ScheduleMerges(const std::shared_ptr<OpenIndex>& index);
  // The same for every open index.
  void ScheduleAll();
  // Call it every few seconds. When no batch has run between two calls, trifles are merged as well.
  void MergeAtRest(OpenIndex& index);

 private:
  Engine() = default;
  // An index that can no longer be found, but is still in use.
  struct Closing {
    std::weak_ptr<OpenIndex> index;
    std::vector<std::function<void()>> done;
  };
  // Reopens the index of a folder while it is being closed; null: it is not being closed.
  std::shared_ptr<OpenIndex> Reopen(const std::string& dir);
  std::shared_ptr<OpenIndex> Share(std::unique_ptr<OpenIndex> index);
  // Called when the files of a folder are closed.
  void Closed(const std::string& dir);
  void ScheduleMerge(OpenIndex& index, MergeLane lane);
  void Merge(const std::shared_ptr<OpenIndex>& index, MergeLane lane);
  // Builds graphs over vectors in the background, once nothing is left to merge.
  void ScheduleGraphs(OpenIndex& index);
  void BuildGraphs(const std::shared_ptr<OpenIndex>& index);
  // Waits until a large merge may begin. False: it may not begin now; the lane is requested again,
  // now or at the end of the running batch, unless the index stops merging.
  bool AwaitPause(OpenIndex& index) const;
  std::once_flag configured_;
  EngineOptions options_;
  std::unique_ptr<ThreadPool> searches_, batches_, merges_, small_merges_, graphs_, checks_,
      closes_, records_;
  std::atomic<uint32_t> memory_borrowers_{0};
  // In all indexes: they share the processors. Each search writes it, and takes the lock: both
  // share no cache line with what all threads read.
  alignas(kCacheLine) std::atomic<uint64_t> searches_begun_{0};
  std::mutex mutex_;  // guards the members below
  std::unordered_map<uint32_t, std::shared_ptr<OpenIndex>> open_;
  std::unordered_map<std::string, Closing> closing_;  // by folder
  std::condition_variable closed_;  // notified when an entry of closing_ is removed
  uint32_t next_ = 1;
};

// The indexing memory of a batch while it runs, so that two concurrent batches together stay within
// the option. A batch during which another may begin (a change of settings), and the batch
// that begins during it, get half; every other batch gets all.
class BatchMemory {
 public:
  explicit BatchMemory(bool allows_another)
      : halved_(Engine::Instance().memory_borrowers().fetch_add(1) > 0 || allows_another) {}
  ~BatchMemory() { --Engine::Instance().memory_borrowers(); }
  BatchMemory(const BatchMemory&) = delete;
  BatchMemory& operator=(const BatchMemory&) = delete;

  uint64_t bytes() const {
    return Engine::Instance().options().indexing_memory_bytes / (halved_ ? 2 : 1);
  }

 private:
  const bool halved_;
};

// Marks a batch as running on the index for its lifetime.
class RunningBatch {
 public:
  explicit RunningBatch(OpenIndex& index) : index_(index) { index_.running = true; }
  ~RunningBatch() {
    index_.rest = OpenIndex::Rest::kChanged;
    index_.running = false;
  }
  RunningBatch(const RunningBatch&) = delete;
  RunningBatch& operator=(const RunningBatch&) = delete;

 private:
  OpenIndex& index_;
};

}  // namespace gannet::addon
