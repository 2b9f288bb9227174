// Commits as records: making them for a log, and applying them from it.
#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <set>

#include "base/bytes.h"
#include "index/delta.h"
#include "index/index.h"
#include "index/keys.h"

namespace gannet::index {
namespace {

std::mutex log_mutex;  // guards the_log
std::shared_ptr<CommitLog> the_log;
// Lets a process without a log skip the lock.
std::atomic<bool> has_log{false};

std::set<uint64_t> FilesOf(const Snapshot& snapshot) {
  std::set<uint64_t> files{0};
  for (const auto& segment : snapshot.segments) {
    const SegmentFiles& named = segment->files;
    files.insert({named.base_file, named.columns_file, named.graphs_file});
  }
  return files;
}

// Other machines get the files that are stored with a record. stored: their numbers.
Status CheckStored(const Snapshot& before, const Snapshot& after,
                   const std::vector<uint64_t>& stored) {
  const auto old = FilesOf(before);
  for (const uint64_t file : FilesOf(after)) {
    if (!old.contains(file) && std::find(stored.begin(), stored.end(), file) == stored.end())
      return Status::Internal("a commit names the file " + std::to_string(file) +
                              ", which is not stored with it");
  }
  return Status::Ok();
}

}  // namespace

void Index::SetLog(std::shared_ptr<CommitLog> log) {
  const std::lock_guard lock(log_mutex);
  has_log = log != nullptr;
  the_log = std::move(log);
}

std::shared_ptr<CommitLog> Index::TheLog() {
  if (!has_log.load(std::memory_order_relaxed)) return nullptr;
  const std::lock_guard lock(log_mutex);
  return the_log;
}

bool Index::Leads() {
  const auto log = TheLog();
  return log == nullptr || log->leads();
}

uint64_t Index::NextNumber() {
  if (const auto log = TheLog()) RaiseNextNumber(log->first_number());
  return next_number_.fetch_add(1);
}

void Index::RaiseNextNumber(uint64_t number_min) {
  for (uint64_t next = next_number_.load();
       next < number_min && !next_number_.compare_exchange_weak(next, number_min);) {
  }
}

Status Index::ApplyByLog(CommitLog& log, Commit& commit, const Adjust& adjust, NewFiles& files) {
  // Releases the lock before the record is applied: the thread that applies records needs it.
  const std::vector<uint64_t> stored = files.numbers();
  const auto prepare = [&]() -> Result<std::string> {
    const std::lock_guard lock(commit_mutex_);
    const std::shared_ptr<const Snapshot> before = snapshot();
    GANNET_ASSIGN_OR_RETURN(const auto after, Prepare(commit, adjust, *before));
    GANNET_RETURN_IF_ERROR(CheckStored(*before, *after, stored));
    return DeltaOf(commit, *before, *after);
  };
  CommitLog::Outcome outcome = log.Append(dir_, stored, prepare);
  // Unknown: keep the files, which the record may name.
  if (outcome.end != CommitLog::End::kNotWritten) files.Keep();
  return std::move(outcome.status);
}

Result<bool> Index::ApplyRecord(std::string_view log_id, uint64_t sequence,
                                std::string_view delta) {
  const std::lock_guard lock(commit_mutex_);
  const std::shared_ptr<const Snapshot> before = snapshot();
  GANNET_ASSIGN_OR_RETURN(auto txn, env_->Write());
  const auto applied = [&](const auto& reader) -> Result<uint64_t> {
    GANNET_ASSIGN_OR_RETURN(const auto value, reader.Get(main_, keys::kRecord));
    const bool is_of_log = value && value->size() == sizeof(uint64_t) + log_id.size() &&
                           value->substr(sizeof(uint64_t)) == log_id;
    return is_of_log ? LoadFixed<uint64_t>(value->data()) : 0;
  };
  GANNET_ASSIGN_OR_RETURN(const uint64_t last, applied(txn));
  if (sequence <= last) return false;
  ChangedKeys changed;
  const std::array tables = Tables();
  GANNET_RETURN_IF_ERROR(EachWrite(delta, tables, [&](const DeltaWrite& write) -> Status {
    if (write.table.dbi == main_.dbi) {
      if (write.kind == DeltaKind::kClear || !keys::IsOfRecords(write.key))
        return Status::Corruption("a record of the log names what is none of an index");
      changed.emplace(write.key);
    }
    switch (write.kind) {
      case DeltaKind::kPut: return txn.Put(write.table, write.key, write.value);
      case DeltaKind::kRemove: return txn.Delete(write.table, write.key);
      case DeltaKind::kClear: return txn.Clear(write.table);
    }
    return Status::Ok();
  }));
  std::string position;
  PutFixed<uint64_t>(position, sequence);
  position.append(log_id);
  GANNET_RETURN_IF_ERROR(txn.Put(main_, keys::kRecord, position));
  // The new files are opened before anything is committed: a damaged one changes nothing.
  const ReadMain read = [&](std::string_view key) { return txn.Get(main_, key); };
  GANNET_ASSIGN_OR_RETURN(auto after, ReadSnapshot(read, &changed, *before));
  after->version = before->version + 1;
  // A later commit of this node that makes no file must not record a lower one.
  GANNET_ASSIGN_OR_RETURN(const auto number, read(keys::kNextNumber));
  if (number && number->size() == sizeof(uint64_t))
    RaiseNextNumber(LoadFixed<uint64_t>(number->data()));
  GANNET_RETURN_IF_ERROR(segment::SyncFolder(dir_ + "/segments"));
  if (const Status status = txn.Commit(); !status.ok()) {
    // See ApplyNow.
    GANNET_ASSIGN_OR_RETURN(const auto now, env_->Read());
    GANNET_ASSIGN_OR_RETURN(const uint64_t stored, applied(now));
    if (stored != sequence) return status;
  }
  has_manifest_ = true;
  Publish(*before, std::move(after));
  return true;
}

}  // namespace gannet::index
