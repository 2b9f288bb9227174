// One index on disk: its folder, its tables (LMDB) and its segments.
//
//   <dir>/index.mdb            LMDB: external ids, settings, fields, manifest, dead documents,
//                              last batch
//   <dir>/segments/<number>    immutable files; only those that the manifest names count
//
// A change is a Commit: one LMDB transaction that names new segments (their files are already
// durable), drops others and marks documents dead. Only Sweep removes files that the manifest does
// not name.
//
// In a cluster a commit is first written to the log as a record: the operations of that transaction
// as bytes. Every machine that applies the record, the one that made it or another, then has the
// same bytes. In this file, a record is always one of the log.
//
// Threads: any thread may call snapshot(); one writer and any number of merges may call Apply at a
// time (it serialises them).
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/moment.h"
#include "base/status.h"
#include "index/delta.h"
#include "index/file_sums.h"
#include "index/snapshot.h"
#include "store/env.h"

namespace gannet::index {

struct Commit {
  std::vector<SegmentFiles> added;
  std::vector<SegmentId> removed;
  // Documents whose current version is no longer in its old segment. Applied before `added`.
  DocSet dead;
  // Dead documents of added segments (a merge that ended after some of its documents were
  // replaced).
  std::vector<std::pair<SegmentId, DocSet>> dead_in_added;
  // New columns files of existing segments.
  std::vector<std::pair<SegmentId, uint64_t>> columns;
  // Files of graphs of existing segments that have none.
  std::vector<std::pair<SegmentId, uint64_t>> graphs;
  bool clear = false;  // removes every document and external id before anything is added

  // New ids, in any order; Apply borrows the texts until it returns.
  std::vector<std::pair<std::string_view, DocId>> new_external_ids;
  std::vector<std::string> removed_external_ids;
  std::shared_ptr<const StoredSettings> settings;  // null: unchanged

  std::shared_ptr<const FieldMap> fields;  // null: unchanged
  std::optional<std::string> primary_key;
  std::optional<Distribution> distribution;
  std::optional<std::string> dictionary;
  std::optional<std::string> updated_at;
  std::optional<std::string> last_batch;
};

// The analyzer for texts of an index with these settings.
std::shared_ptr<const text::Analyzer> MakeAnalyzer(const Settings& settings);

// Takes commits before they are applied: the log of a cluster (docs/internals/cluster.md). There is
// one per process, which every index uses.
class CommitLog {
 public:
  enum class End {
    kApplied,     // the record is in the log, and ApplyRecord has applied it
    kNotWritten,  // it is not in the log and never will be
    kUnknown,     // the outcome can no longer be found out
  };
  struct Outcome {
    End end;
    Status status;  // ok only if applied
  };
  virtual ~CommitLog() = default;
  // Appends one record, and returns when the outcome is known. The thread of a batch or a merge
  // calls this, and may wait for long.
  // files    the files that the record may name
  // prepare  makes the delta of the record; called at most once, when every earlier record has been
  //          applied. If it fails, the outcome is kNotWritten with its error.
  virtual Outcome Append(const std::string& dir, const std::vector<uint64_t>& files,
                         const std::function<Result<std::string>()>& prepare) = 0;
  // This process numbers its new files from here on, so that no two leaders use the same number.
  virtual uint64_t first_number() const = 0;
  // Whether this process may commit at present. Background work waits until it may.
  virtual bool leads() const = 0;
};

class Index;

// Files that a job writes. The destructor removes them unless a commit has taken them over.
class NewFiles {
 public:
  explicit NewFiles(const Index& index) : index_(index) {}
  ~NewFiles();
  NewFiles(const NewFiles&) = delete;
  // number: of a file that exists or is about to be written.
  void Add(uint64_t number) { numbers_.push_back(number); }
  void Keep() { numbers_.clear(); }
  const std::vector<uint64_t>& numbers() const { return numbers_; }

 private:
  const Index& index_;
  std::vector<uint64_t> numbers_;
};

enum class IfAbsent { kCreate, kRefuse };

class Index {
 public:
  // Removes no file. Corruption: the tables or a segment are damaged or missing, or there are
  // segments and no tables.
  static Result<std::shared_ptr<Index>> Open(const std::string& dir,
                                             IfAbsent if_absent = IfAbsent::kCreate);
  // Removes the files that the manifest does not name: leftovers of jobs that did not end. Does
  // nothing if there is no manifest. Call it once the index is known to be the right one, and
  // before its first batch.
  void Sweep();

  std::shared_ptr<const Snapshot> snapshot() const;
  // `search_cutoff_ms` of its settings.
  uint64_t search_cutoff_ms() const { return search_cutoff_ms_.load(std::memory_order_relaxed); }
  // The same without the documents that have expired (index/expiry.h): what searches and listings
  // show.
  std::shared_ptr<const Snapshot> present(double now = UnixSeconds());
  // A number for a new segment or file; never returned before.
  uint64_t NextNumber();
  std::string FilePath(uint64_t number) const;
  void RemoveFile(uint64_t number) const noexcept;

  // Looks up docids by external id in the last committed state.
  class ExternalIds {
   public:
    std::optional<DocId> Find(std::string_view id);
    // Not ok: an id could not be looked up, and Find returned nullopt for it. Corruption or Io.
    const Status& health() const { return health_; }

   private:
    friend class Index;
    ExternalIds(store::ReadTransaction txn, store::Table table)
        : txn_(std::move(txn)), table_(table) {}
    store::ReadTransaction txn_;
    store::Table table_;
    Status health_ = Status::Ok();
  };
  Result<ExternalIds> ReadExternalIds();

  // Makes the change durable, then visible. If it fails, even because memory ran out, nothing has
  // changed and the new files are removed.
  // adjust  may complete the commit; called under the commit lock with the snapshot before the
  // commit files   the files of the commit. Apply keeps them if it succeeds or the outcome is
  // unknown. Null:
  //         Apply itself removes them if it fails.
  using Adjust = std::function<Status(const Snapshot&, Commit&)>;
  Status Apply(Commit commit, const Adjust& adjust = {}, NewFiles* files = nullptr);

  // From now on, commits of this process go to `log` first. Null: they are applied at once again.
  static void SetLog(std::shared_ptr<CommitLog> log);
  // Whether commits of this process are accepted; always true without a log.
  static bool Leads();

  // Applies a record of the log: makes it durable, then visible. False: it was applied before. On
  // failure nothing has changed.
  // log_id  identifies the log; positions in other logs do not count
  // delta   what a `prepare` of CommitLog::Append returned, here or on another machine. The files
  //         that it names must be in the folder.
  // Corruption: the delta or one of the files is damaged.
  Result<bool> ApplyRecord(std::string_view log_id, uint64_t sequence, std::string_view delta);

  // Makes a folder with the last committed state that Open can read: a copy of the tables, and hard
  // links to the segment files, or copies if the file system has no hard links. Commits wait
  // meanwhile. Does not sync. dir: must not exist; on failure the incomplete folder is left.
  Status CopyTo(const std::string& dir);

  std::pair<uint64_t, uint64_t> DiskSizes();  // bytes on disk, bytes of live data
  const std::string& dir() const { return dir_; }

 private:
  explicit Index(std::string dir) : dir_(std::move(dir)) {}
  Status Load();
  Result<std::shared_ptr<const SegmentView>> OpenSegment(const SegmentFiles& files, DocSet dead,
                                                         const FileSums& sums = {});
  // Corruption: the file differs from that of `sums`.
  Result<std::shared_ptr<segment::SegmentFile>> OpenFile(uint64_t number,
                                                         const FileSums& sums = {});
  // The segments after a commit: without those that it removes or that have no live document left,
  // with those that it adds.
  Result<SegmentViews> SegmentsAfter(const SegmentViews& before, const Commit& commit);
  // A copy with the dead documents, the columns and the graphs of a commit; null if the commit does
  // not change the segment.
  Result<std::shared_ptr<const SegmentView>> Changed(const SegmentView& segment,
                                                     const Commit& commit,
                                                     const FileSums& sums = {});
  // The snapshot that a commit makes of `before`, with its new segments opened.
  Result<std::shared_ptr<Snapshot>> Prepare(Commit& commit, const Adjust& adjust,
                                            const Snapshot& before);
  static std::shared_ptr<CommitLog> TheLog();
  std::array<NamedTable, 2> Tables() const;
  Status ApplyNow(Commit& commit, const Adjust& adjust, NewFiles& files);
  Status ApplyByLog(CommitLog& log, Commit& commit, const Adjust& adjust, NewFiles& files);
  // Reads a value of the table `main`.
  using ReadMain = std::function<Result<std::optional<std::string_view>>(std::string_view)>;
  // Keys of `main` that have changed since a snapshot; null: all.
  using ChangedKeys = std::set<std::string, std::less<>>;
  // The stored state. Unchanged parts are taken from `before`.
  Result<std::shared_ptr<Snapshot>> ReadSnapshot(const ReadMain& read, const ChangedKeys* changed,
                                                 const Snapshot& before);
  Status ReadSegments(const ReadMain& read, const ChangedKeys* changed, const Snapshot& before,
                      Snapshot& snapshot);
  // The segment that the tables describe. old: its earlier state, or null.
  Result<std::shared_ptr<const SegmentView>> SegmentLike(
      const std::shared_ptr<const SegmentView>& old, const SegmentFiles& files, DocSet dead,
      const FileSums& sums);
  // Whether the tables hold `after`, which a commit that failed was about to write.
  Result<bool> IsStored(const Snapshot& after);
  void Publish(const Snapshot& before, std::shared_ptr<const Snapshot> after);
  Status Write(Commit& commit, const Snapshot& before, const Snapshot& after);
  // Writes the changes of a commit, in order. To: WriteTransaction, or DeltaWriter.
  template <typename To>
  Status WriteTo(To& to, Commit& commit, const Snapshot& before, const Snapshot& after);
  // The same as bytes of a delta.
  Result<std::string> DeltaOf(Commit& commit, const Snapshot& before, const Snapshot& after);
  Result<std::shared_ptr<const StoredSettings>> LoadSettings(const ReadMain& read);
  // Writes the settings. after: null, or settings that replace those of `before`.
  template <typename To>
  Status PutSettings(To& to, const Snapshot& before, const StoredSettings* after);
  // Writes the tables of an index without documents.
  Status WriteFirst();
  // After this, NextNumber returns no number below `number_min`.
  void RaiseNextNumber(uint64_t number_min);
  // Calls `each` with the names of the files directly in `segments`.
  void EachFile(const std::function<void(const std::string&)>& each) const;

  std::string dir_;
  std::unique_ptr<store::Environment> env_;
  store::Table main_{}, external_ids_{};
  bool has_manifest_ = false;
  std::atomic<uint64_t> next_number_{1};
  std::mutex commit_mutex_;
  mutable std::mutex snapshot_mutex_;  // guards snapshot_
  std::shared_ptr<const Snapshot> snapshot_;
  std::atomic<uint64_t> search_cutoff_ms_{0};  // of snapshot_, for readers without the lock
  // The last result of `present`, which holds during [from, until).
  struct Present {
    std::shared_ptr<const Snapshot> of, snapshot;
    double from = 0, until = 0;
  };
  std::mutex present_mutex_;  // guards present_
  Present present_;
};

}  // namespace gannet::index
