// Merging: several segments are written again as one, without the documents that are dead.
//
// It keeps an index fast and small whatever its history: few segments to look into, little space
// held by documents that were replaced or deleted. Nothing is parsed or tokenised again: rows are
// copied as they are, words, postings and ordinals are carried over.
//
// Threads: any number of merges may run beside one job and all searches, as long as their plans
// share no segment. A merge ends without effect when all its sources were taken away meanwhile, or
// one got new columns.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "index/index.h"

namespace gannet::indexing {

struct MergePlan {
  std::vector<SegmentId> segments;
  uint64_t bytes = 0;     // of their files
  bool pressing = false;  // the index is far from what merges keep it to, see IsPressing
};

inline constexpr size_t kSegmentsMax = 10;
// Segments are not joined to more than this. What a merge holds in memory, the room that it needs
// beside its sources and the time that it takes would otherwise grow with the index. One with more
// than half of it counts as full: it is only rewritten for the dead in it.
inline constexpr uint64_t kMergedBytesMax = uint64_t{4} << 30;

// What should be written as one next, or nullopt when all is well. After each merge ask again.
// busy: segments that merges under way have taken. bytes_max: larger segments are left alone.
//
// Once nullopt (and nothing is busy) there are at most kSegmentsMax segments besides full ones, and
// dead documents hold at most a fifth of the bytes of each, trifles aside. Under a stream of
// commits of one document each, a document is rewritten about 9 times while 50,000 follow it
// (simulated: alone, and beside one large segment).
std::optional<MergePlan> PlanMerge(const index::Snapshot& snapshot,
                                   const std::vector<SegmentId>& busy = {},
                                   uint64_t bytes_max = UINT64_MAX);

// What leaves an index with as few segments as can be and no dead documents: runs of segments whose
// bytes together are at most `merged_max`, of several segments or of one with dead documents.
std::vector<MergePlan> PlanCompaction(const index::Snapshot& snapshot,
                                      uint64_t merged_max = kMergedBytesMax);

// The same by sizes alone, so that the policy can be tried without an index.
struct SegmentBytes {
  uint64_t total = 0;
  uint64_t live = 0;  // the share of `total` that its live documents hold
};
// Which of `segments`, by number; empty: nothing to do.
std::vector<size_t> ChooseMerge(const std::vector<SegmentBytes>& segments,
                                uint64_t merged_max = kMergedBytesMax);

// Whether merges can wait for a pause no longer: dead documents hold more than half of what live
// ones do, as where much is replaced without a pause, or there are twice as many segments as should
// be.
bool IsPressing(const std::vector<SegmentBytes>& segments, uint64_t merged_max = kMergedBytesMax);

// Which segments of an index the merges under way have taken, so that several run at once: a large
// one takes seconds, in which changes may leave a hundred small segments. And what merges have
// failed of.
//
// Threads: any. Lifetime: outlives its turns.
class Merges {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kRetryMin{1}, kRetryMax{300};

  // A plan, whose segments no other turn gets as long as this one lives.
  class Turn {
   public:
    Turn(Turn&& other) noexcept
        : merges_(std::exchange(other.merges_, nullptr)), plan_(std::move(other.plan_)) {}
    ~Turn();
    const MergePlan& plan() const { return plan_; }

   private:
    friend class Merges;
    Turn(Merges& merges, MergePlan plan) : merges_(&merges), plan_(std::move(plan)) {}
    Merges* merges_;
    MergePlan plan_;
  };

  // nullopt: nothing is left to merge but what others have taken, or nothing should be tried yet.
  // bytes_max: as for PlanMerge.
  std::optional<Turn> Next(const index::Index& index, uint64_t bytes_max,
                           Clock::time_point now = Clock::now());
  // How the merge of a plan of `index` ended. Where it met damage, those segments are left alone
  // from now on; after another fault, as of a full disk, nothing is tried for a second, each time
  // twice as long, up to kRetryMax. Cancelled is no fault.
  void Ended(const index::Index& index, const MergePlan& plan, const Status& status,
             Clock::time_point now = Clock::now());
  // What merges have failed of since it was last asked: the last of them, or Ok.
  Status TakeFault();

 private:
  std::mutex mutex_;
  std::vector<SegmentId> taken_, damaged_;
  std::chrono::seconds retry_after_{0};
  Clock::time_point retry_at_;
  Status fault_;
};

// When a large merge may begin that is not pressing. It takes processors and disk, and until it
// ends the index takes up to twice its space; so it waits for a pause between batches and searches,
// but not for ever.
//
// Threads: one owner.
class MergePause {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPause{1}, kWaitMax{30};
  static constexpr uint64_t kLargeBytes = uint64_t{64} << 20;

  enum class Answer { kNow, kSoon, kAfterBatch };
  // batch_running: of the index. disturbed: since the question before a batch has ended, or a
  // search has begun. kSoon: ask again in some milliseconds; kAfterBatch: when the batch has ended.
  Answer Ask(Clock::time_point now, bool batch_running, bool disturbed);

 private:
  std::optional<Clock::time_point> waiting_since_, quiet_since_;
};

// Carries out a plan in one commit. bytes_per_second: of what is written; 0 is unlimited.
// Errors: Cancelled when `cancelled` was set or the sources have changed meanwhile (ask for another
// plan);
// Corruption when a source is damaged. The index is then as before.
// Memory: 4 bytes per document and per word of the sources, the new dictionary, and what
// ColumnMerge takes for one column.
Status RunMerge(index::Index& index, const MergePlan& plan, const std::atomic<bool>& cancelled,
                uint64_t bytes_per_second);

}  // namespace gannet::indexing
