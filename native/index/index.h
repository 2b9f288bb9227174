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
// Threads: snapshot() from any; Apply from one writer and any merges at a time (it serialises
// them).
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
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
  uint64_t NextNumber() { return next_number_.fetch_add(1); }
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
  Status Apply(Commit commit, const std::function<Status(const Snapshot&, Commit&)>& adjust = {},
               NewFiles* files = nullptr);

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
                                                     const Commit& commit);
  // Whether the record is that of `after`, which a commit that has failed was about to write.
  Result<bool> IsStored(const Snapshot& after);
  void Publish(const Snapshot& before, std::shared_ptr<const Snapshot> after);
  Status Write(Commit& commit, const Snapshot& before, const Snapshot& after);
  Status PutSums(store::WriteTransaction& txn, const FileSums& sums);
  // For an index of before, which has none. Where it fails the index is as it was.
  Status WriteMissingSums();
  Result<std::shared_ptr<const StoredSettings>> LoadSettings(const store::ReadTransaction& txn);
  // after: null, or settings that replace those of before.
  Status PutSettings(store::WriteTransaction& txn, const StoredSettings* before,
                     const StoredSettings* after);
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
