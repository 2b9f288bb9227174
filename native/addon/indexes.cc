#include "addon/indexes.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "base/memory.h"
#include "base/parallel_for.h"
#include "base/crash_mark.h"
#include "base/scheduling.h"
#include "indexing/graphs.h"

namespace gannet::addon {
namespace {

constexpr int kBatchNice = 5;
constexpr int kMergeNice = 10;
constexpr int kGraphNice = 10;
// Small merges take a few milliseconds per second of changes, and searches slow down without them.
constexpr int kSmallMergeNice = 0;
// The size limit of segments in the small lane: some thousands of documents.
constexpr uint64_t kSmallSegmentBytesMax = uint64_t{4} << 20;
// The limit of bytes that merges write. Far above the needs of a steady stream of changes (a
// document is rewritten about 9 times), and below what would saturate a disk.
constexpr uint64_t kMergeBytesPerSecond = uint64_t{100} << 20;
// Building a graph takes more memory than this.
constexpr uint64_t kGraphBytesKept = uint64_t{32} << 20;
constexpr int kCheckNice = 10;
// Smaller files are read completely by the first searches.
constexpr uint64_t kCheckedAheadBytesMin = uint64_t{1} << 20;
// Concurrent batches of different indexes: the scheduler runs a batch of documents while a change
// of settings runs, and exports read theirs.
constexpr uint32_t kBatchThreads = 3;

}  // namespace

Engine& Engine::Instance() {
  static Engine* engine = new Engine();
  return *engine;
}

void Engine::Configure(const EngineOptions& options) {
  std::call_once(configured_, [&] {
    options_ = options;
    SetTuning(options.tuning);
    // The queue of searches (src/search/permits.ts) sends one more than `search_threads`, and more
    // only for those who have none in progress: these share processors with the others instead of
    // waiting for them.
    const uint32_t threads = 2 * options.search_threads + 1;
    searches_ = std::make_unique<ThreadPool>(threads, options.search_threads, [] {
      ExemptThreadFromCrashMark();
      SetTimeSlice(kSearchTimeSlice);
    });
    SetHelpers(
        {.offer =
             [this](std::function<void()> work) { return searches_->RunIfIdle(std::move(work)); },
         .wanted = [this] { return searches_->HasWaiting(); }});
    batches_ = std::make_unique<ThreadPool>(kBatchThreads, [] { Yield(kBatchNice); });
    closes_ = std::make_unique<ThreadPool>(1, [] {});
    merges_ = std::make_unique<ThreadPool>(1, [] {
      ExemptThreadFromCrashMark();
      Yield(kMergeNice);
    });
    small_merges_ = std::make_unique<ThreadPool>(1, [] {
      ExemptThreadFromCrashMark();
      Yield(kSmallMergeNice);
    });
    graphs_ = std::make_unique<ThreadPool>(1, [] {
      ExemptThreadFromCrashMark();
      Yield(kGraphNice);
    });
    checks_ = std::make_unique<ThreadPool>(1, [] {
      ExemptThreadFromCrashMark();
      Yield(kCheckNice);
      SetTimeSlice(kSearchTimeSlice);
    });
  });
}

ThreadPool& Engine::records() {
  const std::lock_guard lock(mutex_);
  if (records_ == nullptr) records_ = std::make_unique<ThreadPool>(1, [] {});
  return *records_;
}

Result<uint32_t> Engine::Open(const std::string& dir, index::IfAbsent if_absent) {
  Configure({});
  std::shared_ptr<OpenIndex> open = Reopen(dir);
  if (open == nullptr) {
    GANNET_ASSIGN_OR_RETURN(auto index, index::Index::Open(dir, if_absent));
    const std::lock_guard lock(mutex_);
    open = Share(std::make_unique<OpenIndex>(next_++, dir, std::move(index)));
    open_.emplace(open->handle, open);
  }
  CheckAhead(*open);
  // Merges and graphs that were not done when it was closed last.
  ScheduleMerges(open);
  ScheduleGraphs(*open);
  return open->handle;
}

std::shared_ptr<OpenIndex> Engine::Reopen(const std::string& dir) {
  std::vector<std::function<void()>> done;
  std::shared_ptr<OpenIndex> open;
  {
    std::unique_lock lock(mutex_);
    // A process may open an LMDB file only once.
    for (auto found = closing_.find(dir); found != closing_.end(); found = closing_.find(dir)) {
      open = found->second.index.lock();
      if (open != nullptr) {
        open->closing = false;
        open->stop_merging = false;
        done = std::move(found->second.done);
        closing_.erase(found);
        open_.emplace(open->handle, open);
        break;
      }
      // The last owner is closing the files.
      closed_.wait(lock);
    }
  }
  for (const auto& call : done) call();
  return open;
}

std::shared_ptr<OpenIndex> Engine::Share(std::unique_ptr<OpenIndex> index) {
  return {index.release(), [this](OpenIndex* last) {
            const std::string dir = last->dir;
            delete last;
            Closed(dir);
          }};
}

void Engine::Closed(const std::string& dir) {
  std::vector<std::function<void()>> done;
  {
    const std::lock_guard lock(mutex_);
    const auto found = closing_.find(dir);
    if (found == closing_.end()) return;
    done = std::move(found->second.done);
    closing_.erase(found);
  }
  closed_.notify_all();
  for (const auto& call : done) call();
}

void Engine::Close(uint32_t handle, std::function<void()> done) {
  std::shared_ptr<OpenIndex> open;
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(handle);
    if (found != open_.end()) {
      open = std::move(found->second);
      open_.erase(found);
      closing_[open->dir] = {open, {std::move(done)}};
    }
  }
  if (open == nullptr) return done();
  open->stop_merging = true;
  open->closing = true;
  // The last owner of the index closes its files, which takes milliseconds.
  closes_->Run([open = std::move(open)]() mutable { open.reset(); });
}

std::shared_ptr<OpenIndex> Engine::Find(uint32_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.find(handle);
  return found == open_.end() ? nullptr : found->second;
}

void Engine::CheckAhead(const OpenIndex& index) {
  // Closing an index, or merging a segment, does not wait for the check.
  using WeakFile = std::weak_ptr<const segment::SegmentFile>;
  const auto check = [](const WeakFile& weak) {
    uint64_t at = 0;
    for (auto file = weak.lock(); file != nullptr && at < file->size(); file = weak.lock())
      at = file->CheckAhead(at);
  };
  try {
    std::vector<WeakFile> files;
    for (const auto& segment : index.index->snapshot()->segments) {
      for (const auto& file : {segment->rows->file(), segment->columns->file()}) {
        if (file->size() >= kCheckedAheadBytesMin && file->TakeCheckAhead()) files.push_back(file);
      }
    }
    if (files.empty()) return;
    checks_->Run(
        [files = std::move(files), check] { std::for_each(files.begin(), files.end(), check); });
  } catch (const std::exception&) {
    // Memory has run out; the rest of the files is checked when it is read.
  }
}

void Engine::ScheduleMerges(const std::shared_ptr<OpenIndex>& index) {
  for (const MergeLane lane : kMergeLanes) ScheduleMerge(*index, lane);
}

void Engine::ScheduleAll() {
  std::vector<std::shared_ptr<OpenIndex>> all;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [handle, index] : open_) all.push_back(index);
  }
  for (const auto& index : all) {
    ScheduleMerges(index);
    ScheduleGraphs(*index);
  }
}

void Engine::MergeAtRest(OpenIndex& index) {
  using Rest = OpenIndex::Rest;
  Rest changed = Rest::kChanged, unchanged = Rest::kUnchanged;
  if (index.running || index.rest.compare_exchange_strong(changed, Rest::kUnchanged)) return;
  if (index.rest.compare_exchange_strong(unchanged, Rest::kMerged))
    ScheduleMerge(index, MergeLane::kSmall);
}

void Engine::ScheduleMerge(OpenIndex& index, MergeLane lane) {
  if (!index::Index::Leads()) return;
  index.lane(lane).wanted = true;
  if (index.lane(lane).running.exchange(true)) return;
  ThreadPool& pool = lane == MergeLane::kSmall ? *small_merges_ : *merges_;
  // The index may be closed while this waits for the lane.
  pool.Run([this, handle = index.handle, lane] {
    const auto index = Find(handle);
    if (index == nullptr) return;
    try {
      Merge(index, lane);
    } catch (const std::exception&) {
      // Memory has run out; the next batch requests a merge again.
      index->lane(lane).running = false;
    }
  });
}

void Engine::Merge(const std::shared_ptr<OpenIndex>& index, MergeLane lane) {
  OpenIndex::LaneState& state = index->lane(lane);
  const uint64_t bytes_max = lane == MergeLane::kSmall ? kSmallSegmentBytesMax : UINT64_MAX;
  bool merged = false;
  bool awaited = false, later = false;
  while (!later && state.wanted.exchange(false)) {
    while (!index->stop_merging) {
      std::shared_lock structure(index->structure_mutex);
      auto merge = index->merges.Next(*index->index, bytes_max, indexing::Merges::Clock::now(),
                                      index->rest == OpenIndex::Rest::kMerged);
      if (!merge) break;
      const indexing::MergePlan& plan = merge->plan();
      const bool waits = lane == MergeLane::kAll &&
                         plan.bytes > indexing::MergePause::kLargeBytes && !plan.pressing;
      if (waits && !std::exchange(awaited, true)) {
        merge.reset();
        structure.unlock();
        later = !AwaitPause(*index);
        if (later) break;
        continue;
      }
      awaited = false;
      const Status status =
          indexing::RunMerge(*index->index, plan, index->stop_merging, kMergeBytesPerSecond);
      index->merges.Ended(*index->index, plan, status);
      ReturnFreeMemory(plan.bytes);
      // The index is unchanged; if the segments have changed, the end of the batch requests a merge
      // again.
      if (status.code() == StatusCode::kCancelled) break;
      if (!status.ok()) continue;
      CheckAhead(*index);
      merged = true;
    }
  }
  state.running = false;
  if (index->stop_merging) return;
  if (state.wanted) ScheduleMerge(*index, lane);
  // Segments that this lane has written or skipped may be due in the other lane.
  if (merged)
    ScheduleMerge(*index, lane == MergeLane::kSmall ? MergeLane::kAll : MergeLane::kSmall);
  ScheduleGraphs(*index);
}

void Engine::ScheduleGraphs(OpenIndex& index) {
  if (!index::Index::Leads()) return;
  // Segments that will be merged get no graphs; the end of the merge requests them again.
  if (!indexing::PlanGraphs(*index.index->snapshot()) ||
      indexing::PlanMerge(*index.index->snapshot()))
    return;
  index.graphs.wanted = true;
  if (index.graphs.running.exchange(true)) return;
  graphs_->Run([this, handle = index.handle] {
    if (const auto index = Find(handle); index != nullptr) BuildGraphs(index);
  });
}

void Engine::BuildGraphs(const std::shared_ptr<OpenIndex>& index) {
  indexing::GraphOptions options;
  options.threads = options_.indexing_threads;
  while (index->graphs.wanted.exchange(false)) {
    try {
      while (!index->closing) {
        const auto segment = indexing::PlanGraphs(*index->index->snapshot());
        if (!segment ||
            !indexing::BuildGraphs(*index->index, *segment, options, index->closing).ok())
          break;
      }
    } catch (const std::exception&) {
      // Memory has run out; the segment is scanned until the next batch requests a graph again.
    }
    ReturnFreeMemory(kGraphBytesKept);
  }
  index->graphs.running = false;
  if (index->graphs.wanted && !index->closing) ScheduleGraphs(*index);
}

bool Engine::AwaitPause(OpenIndex& index) const {
  constexpr auto kPollInterval = std::chrono::milliseconds(20);
  uint64_t searches_seen = searches_begun_;
  while (!index.stop_merging) {
    // The end of a batch requests merges; those of other indexes then go first.
    const bool batch_ended = index.lane(MergeLane::kAll).wanted;
    const uint64_t searches = searches_begun_;
    const bool searched = searches != std::exchange(searches_seen, searches);
    const auto decision = index.pause.Decide(indexing::MergePause::Clock::now(), index.running,
                                             batch_ended || searched);
    if (decision == indexing::MergePause::Decision::kNow) return true;
    if (decision == indexing::MergePause::Decision::kAfterBatch || batch_ended) return false;
    std::this_thread::sleep_for(kPollInterval);
  }
  return false;
}

}  // namespace gannet::addon
