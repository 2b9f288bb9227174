// One index on disk: its folder, its transactional record and its segments.
//
//   <dir>/index.mdb            LMDB: external ids, settings, fields, manifest, dead documents, last
//   batch <dir>/segments/<number>    immutable files; which of them count is said by the manifest
//   alone
//
// A change is a Commit: one LMDB transaction that names new segments (their files are durable
// already), drops others and marks documents dead. A file that the manifest does not name is
// removed by Sweep, and only by it.
//
// In a cluster the commit is a record first: the operations of that transaction as bytes, which a
// log takes. Whoever applies a record, the machine that made it or another, holds the same bytes
// afterwards.
//
// Threads: snapshot() from any; Apply from one writer and any merges at a time (it serialises
// them).
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

#include "base/status.h"
#include "index/delta.h"
#include "index/file_sums.h"
#include "index/snapshot.h"
#include "store/env.h"

namespace gannet::index {

struct Commit {
  std::vector<SegmentFiles> added;
  std::vector<SegmentId> removed;
  // Documents that are no longer current where they stood. Applied before `added` is.
  DocSet dead;
  // Dead documents of added segments (a merge that ended after some of its documents were
  // replaced).
  std::vector<std::pair<SegmentId, DocSet>> dead_in_added;
  // New columns file per existing segment.
  std::vector<std::pair<SegmentId, uint64_t>> columns;
  // File of graphs per existing segment that has none.
  std::vector<std::pair<SegmentId, uint64_t>> graphs;
  bool clear = false;  // every document and external id goes, before anything is added

  // Any order; the texts are borrowed until Apply has ended.
  std::vector<std::pair<std::string_view, DocId>> new_external_ids;
  std::vector<std::string> removed_external_ids;
  std::shared_ptr<const StoredSettings> settings;  // null: unchanged
  std::optional<text::TextForm> text_form;         // every word has it after the commit
  std::shared_ptr<const FieldMap> fields;          // null: unchanged
  std::optional<std::string> primary_key;
  std::optional<std::map<FieldId, uint64_t>> distribution;
  std::optional<std::string> dictionary;
  std::optional<std::string> updated_at;
  std::optional<std::string> last_batch;
};

// What makes words of texts in an index with these settings.
std::shared_ptr<const text::Analyzer> MakeAnalyzer(const Settings& settings, text::TextForm form);

// Takes commits before they are applied: the log of a cluster (docs/design/cluster.md). One for the
// process, of which every index knows.
class CommitLog {
 public:
  enum class End {
    kApplied,     // the record is in the log, and ApplyRecord has applied it
    kNotWritten,  // it is not in the log and never will be
    kUnknown,     // nobody can say any more
  };
  struct Outcome {
    End end;
    Status status;  // ok only where it is applied
  };
  virtual ~CommitLog() = default;
  // Returns when the outcome is known. Called by a thread of a batch or a merge, which may wait for
  // long. files: what the record may name. prepare: called at most once, when every record before
  // is applied; makes the delta of the record. What it fails with is the status of kNotWritten.
  virtual Outcome Append(const std::string& dir, const std::vector<uint64_t>& files,
                         const std::function<Result<std::string>()>& prepare) = 0;
  // Numbers of files that this process makes are not below it: no two leaders give one number.
  virtual uint64_t first_number() const = 0;
  // Whether this process may commit at present. What is done in the background waits until it may.
  virtual bool leads() const = 0;
};

class Index;

// Files that a job writes. They are removed with it, unless a commit has taken them over.
class NewFiles {
 public:
  explicit NewFiles(const Index& index) : index_(index) {}
  ~NewFiles();
  NewFiles(const NewFiles&) = delete;
  // number: of a file that is there or will be.
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
  // Removes nothing. Corruption: the record or a segment is damaged or missing, or there are
  // segments and no record.
  static Result<std::shared_ptr<Index>> Open(const std::string& dir,
                                             IfAbsent if_absent = IfAbsent::kCreate);
  // Removes the files that the manifest does not name: what a job that did not end has left. Does
  // nothing when there is no manifest. Call it once the index is known to be the right one, and
  // before its first batch.
  void Sweep();

  std::shared_ptr<const Snapshot> snapshot() const;
  // A number for a new segment or file, never given before.
  uint64_t NextNumber();
  std::string FilePath(uint64_t number) const;
  void RemoveFile(uint64_t number) const noexcept;

  // The docid of an external id in the last committed state.
  class ExternalIds {
   public:
    std::optional<DocId> Find(std::string_view id);
    // Corruption, Io: an id could not be looked for, and Find said that there is none.
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

  // Makes the change durable, then visible. On failure nothing has changed and the new files are
  // removed, as they are when memory runs out. adjust: called under the commit lock with the
  // snapshot the commit will follow; may complete the commit. files: those of the commit, which it
  // takes over if it succeeds, or where that cannot be told. Null: Apply removes them itself if
  // not.
  using Adjust = std::function<Status(const Snapshot&, Commit&)>;
  Status Apply(Commit commit, const Adjust& adjust = {}, NewFiles* files = nullptr);

  // Where the commits of this process go from now on, instead of being applied at once. Null: none.
  static void SetLog(std::shared_ptr<CommitLog> log);
  // Whether commits of this process are taken: always without a log.
  static bool Leads();

  // Applies a record of the log: durable, then visible. `delta` is what `CommitLog::Append` got, of
  // this index on any machine; the files that it names are in their places. Corruption: the delta
  // or one of the files is damaged. False: it was applied before. A failure changes nothing.
  Result<bool> ApplyRecord(uint64_t sequence, std::string_view delta);

  // Makes a folder that holds the last committed state, as Open finds it: a copy of the record, and
  // the files of segments by further names, or copied where the file system has no such. Commits
  // wait meanwhile. Not synced. dir: absent; on failure what was made is left.
  Status CopyTo(const std::string& dir);

  // Stores the same settings in today's form, or takes them until the next opening where they
  // cannot be stored. Call it before the first search and the first batch.
  Status ReplaceSettings(StoredSettings settings);

  std::pair<uint64_t, uint64_t> DiskSizes();  // bytes on disk, bytes of live data
  const std::string& dir() const { return dir_; }

 private:
  explicit Index(std::string dir) : dir_(std::move(dir)) {}
  Status Load();
  Result<std::shared_ptr<const SegmentView>> OpenSegment(const SegmentFiles& files, DocSet dead,
                                                         const FileSums& sums = {});
  // Corruption: it is another one than that of `sums`.
  Result<std::shared_ptr<segment::SegmentFile>> OpenFile(uint64_t number,
                                                         const FileSums& sums = {});
  // What a commit makes of segments: without those that it removes or that have no live document
  // left, with those that it adds.
  Result<SegmentViews> SegmentsAfter(const SegmentViews& before, const Commit& commit);
  // A copy with the dead documents, the columns and the graphs of a commit; null: it says nothing
  // of the segment.
  Result<std::shared_ptr<const SegmentView>> Changed(const SegmentView& segment,
                                                     const Commit& commit,
                                                     const FileSums& sums = {});
  // What the commit makes of `before`. Its new segments are open.
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
  // The stored state, with what has not changed taken from `before`.
  Result<std::shared_ptr<Snapshot>> ReadSnapshot(const ReadMain& read, const ChangedKeys* changed,
                                                 const Snapshot& before);
  Status ReadSegments(const ReadMain& read, const ChangedKeys* changed, const Snapshot& before,
                      Snapshot& snapshot);
  // A segment as the record says it is. old: as it was, or null.
  Result<std::shared_ptr<const SegmentView>> SegmentLike(
      const std::shared_ptr<const SegmentView>& old, const SegmentFiles& files, DocSet dead,
      const FileSums& sums);
  // Whether the record is that of `after`, which a commit that has failed was about to write.
  Result<bool> IsStored(const Snapshot& after);
  void Publish(const Snapshot& before, std::shared_ptr<const Snapshot> after);
  Status Write(Commit& commit, const Snapshot& before, const Snapshot& after);
  // What a commit writes, in order. To: WriteTransaction, or DeltaWriter.
  template <typename To>
  Status WriteTo(To& to, Commit& commit, const Snapshot& before, const Snapshot& after);
  // The same as bytes.
  Result<std::string> DeltaOf(Commit& commit, const Snapshot& before, const Snapshot& after);
  // For an index of before, which has none. Where it fails the index is as it was.
  Status WriteMissingSums();
  Result<std::shared_ptr<const StoredSettings>> LoadSettings(const ReadMain& read);
  // after: null, or settings that replace those of before.
  template <typename To>
  Status PutSettings(To& to, const StoredSettings* before, const StoredSettings* after);
  // The record of an index without documents.
  Status WriteFirst();
  // Calls `each` with the names of the files beside each other in `segments`.
  void EachFile(const std::function<void(const std::string&)>& each) const;

  std::string dir_;
  std::unique_ptr<store::Environment> env_;
  store::Table main_{}, external_ids_{};
  bool has_manifest_ = false;
  std::atomic<uint64_t> next_number_{1};
  std::mutex commit_mutex_;
  mutable std::mutex snapshot_mutex_;  // guards snapshot_
  std::shared_ptr<const Snapshot> snapshot_;
};

}  // namespace gannet::index
