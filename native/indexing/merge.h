// Merging: writes several segments again as one, without the documents that are dead.
//
// It keeps an index fast and small whatever its history: few segments to search, little space held
// by documents that were replaced or deleted. Nothing is parsed or tokenised again: rows are copied
// as they are; words, postings and ordinals are carried over.
//
// Threads: any number of merges may run concurrently with one job and all searches, as long as
// their plans share no segment. A merge has no effect if all its sources were removed meanwhile, or
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
#include "segment/file.h"

namespace gannet::indexing {

struct MergePlan {
  std::vector<SegmentId> segments;
  uint64_t bytes = 0;     // of their files
  bool pressing = false;  // the index is far from its target, see IsPressing
};

inline constexpr size_t kSegmentsMax = 10;

// The segments to be merged next, or nullopt if nothing is to do. Ask again after each merge. busy:
// segments that running merges have taken. bytes_max: larger segments are left alone. at_rest: the
// index has not changed for a while, so trifles are merged as well.
//
// When it returns nullopt (and nothing is busy) there are at most kSegmentsMax segments apart from
// full ones, and dead documents hold at most a fifth of the bytes of each, trifles aside. With a
// stream of commits of one document each, a document is rewritten about 9 times while the next
// 50,000 are added (simulated: alone, and together with one large segment).
std::optional<MergePlan> PlanMerge(const index::Snapshot& snapshot,
                                   const std::vector<SegmentId>& busy = {},
                                   uint64_t bytes_max = UINT64_MAX, bool at_rest = false);

// The merges that leave an index with as few segments as possible and no dead documents: runs of
// segments whose bytes together are at most `merged_max`, of several segments or of one with dead
// documents.
std::vector<MergePlan> PlanCompaction(const index::Snapshot& snapshot,
                                      uint64_t merged_max = segment::kSegmentBytesMax);

// The same by sizes alone, so that the policy can be tested without an index.
struct SegmentBytes {
  uint64_t total = 0;
  uint64_t live = 0;  // the share of `total` that its live documents hold
};
// Indexes of the `segments` to merge; empty: nothing to do. Several have at most `merged_max` bytes
// together, dead documents included, because `live` is an estimate: what a merge writes is at most
// what it reads. A segment with more than half of `merged_max` counts as full: it is only rewritten
// to drop its dead documents. at_rest: if nothing else is to do, those below kTrifleBytes become
// one, so that single changes do not slow down the searches that follow.
inline constexpr uint64_t kTrifleBytes = 1 << 20;
std::vector<size_t> ChooseMerge(const std::vector<SegmentBytes>& segments,
                                uint64_t merged_max = segment::kSegmentBytesMax,
                                bool at_rest = false);

// Whether merges can no longer wait for a pause: dead documents hold more than half as much as live
// ones do, as when many are replaced without a pause, or there are twice as many segments as there
// should be.
bool IsPressing(const std::vector<SegmentBytes>& segments,
                uint64_t merged_max = segment::kSegmentBytesMax);

// Keeps track of the segments that running merges have taken, so that several can run at once: a
// large one takes seconds, in which changes may leave a hundred small segments. Also records why
// merges failed.
//
// Threads: any. Lifetime: outlives its claims.
class Merges {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kRetryMin{1}, kRetryMax{300};

  // A plan whose segments no other claim holds while this one lives.
  class Claim {
   public:
    Claim(Claim&& other) noexcept
        : merges_(std::exchange(other.merges_, nullptr)), plan_(std::move(other.plan_)) {}
    ~Claim();
    const MergePlan& plan() const { return plan_; }

   private:
    friend class Merges;
    Claim(Merges& merges, MergePlan plan) : merges_(&merges), plan_(std::move(plan)) {}
    Merges* merges_;
    MergePlan plan_;
  };

  // nullopt: there is nothing to merge except what others have taken, or nothing should be tried
  // yet. bytes_max, at_rest: as for PlanMerge.
  std::optional<Claim> Next(const index::Index& index, uint64_t bytes_max,
                            Clock::time_point now = Clock::now(), bool at_rest = false);
  // Reports how the merge of a plan of `index` ended. After damage, those segments are left alone
  // from then on. After another error, such as a full disk, nothing is tried for a second, and
  // twice as long each further time, up to kRetryMax. Cancelled is not an error.
  void Ended(const index::Index& index, const MergePlan& plan, const Status& status,
             Clock::time_point now = Clock::now());
  // The last error of a merge since the previous call, or Ok.
  Status TakeFault();

 private:
  std::mutex mutex_;
  std::vector<SegmentId> taken_, damaged_;
  std::chrono::seconds retry_after_{0};
  Clock::time_point retry_at_;
  Status fault_;
};

// Decides when a large merge that is not pressing may begin. Such a merge keeps processors and disk
// busy, and until it ends the index takes up to twice its space. So it waits for a pause between
// batches and searches, but for at most kWaitMax.
//
// Threads: one owner.
class MergePause {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kPause{1}, kWaitMax{30};
  static constexpr uint64_t kLargeBytes = uint64_t{64} << 20;

  enum class Decision { kNow, kSoon, kAfterBatch };
  // Returns kNow: begin; kSoon: call again in some milliseconds; kAfterBatch: call again when the
  // batch has ended.
  // batch_running  a batch runs on the index
  // disturbed      a batch has ended or a search has begun since the previous call
  Decision Decide(Clock::time_point now, bool batch_running, bool disturbed);

 private:
  std::optional<Clock::time_point> waiting_since_, quiet_since_;
};

// Carries out a plan in one commit. bytes_per_second: limit of the bytes written; 0 is unlimited.
// Errors: Cancelled if `cancelled` was set or the sources have changed meanwhile (get another
// plan); Corruption if a source is damaged. The index is then unchanged.
// Memory: 4 bytes per document and per word of the sources, the new dictionary, and what
// ColumnMerge takes for one column.
Status RunMerge(index::Index& index, const MergePlan& plan, const std::atomic<bool>& cancelled,
                uint64_t bytes_per_second);

}  // namespace gannet::indexing
