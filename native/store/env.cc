#include "store/env.h"

#include <fcntl.h>
#include <lmdb.h>
#include <malloc.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "store/page_check.h"
#include "store/sealed_value.h"

namespace gannet::store {
namespace {

// The table that records the form of the file: values carry checksums, and long settings of an
// index are records of their own.
constexpr const char* kSumsTable = "sums";
constexpr std::string_view kSumsKey = "form", kForm = "2";

Status ToStatus(int code, const char* action) {
  if (code == MDB_SUCCESS) return Status::Ok();
  std::string message = std::string(action) + ": " + mdb_strerror(code);
  switch (code) {
    case ENOSPC:
    case EDQUOT:
    case MDB_MAP_FULL: return Status::Full(std::move(message));
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
    case MDB_VERSION_MISMATCH: return Status::Corruption(std::move(message));
    case MDB_NOTFOUND: return Status::NotFound(std::move(message));
    case EMFILE:
    case ENFILE: return Status(StatusCode::kIo, std::move(message), "too_many_open_files");
    default: return Status::Io(std::move(message));
  }
}

// The part of a lock file that is used: its header, and dozens of readers.
constexpr off_t kLockBytes = 4096;
// Space in which a commit may not fit.
constexpr uint64_t kLittleSpace = 4 << 20;

// The code of a write to the file system of `path`. A write that the disk takes in part is EIO for
// LMDB: if the disk is nearly full, that is the reason.
int WriteCode(int code, const std::string& path) {
  struct statvfs space;
  if (code != EIO || statvfs(path.c_str(), &space) != 0) return code;
  return uint64_t{space.f_bavail} * space.f_frsize < kLittleSpace ? ENOSPC : code;
}

// Opening an environment allocates 3 MB of zeros for the lists of a write transaction; a small
// transaction touches a few of these pages. At first, glibc maps such blocks, so that untouched
// pages cost nothing. Once a block of that size has been freed, glibc takes them from the heap and
// writes the zeros: 256 open indexes took 540 MB. Within this scope the blocks are mapped.
//
// Setting the limit stops glibc from raising it when blocks are freed, so it must be set outside
// the scope as well, to a value above the blocks of a search. Loading 1 M documents: peak of
// private memory 402 MB without the limit, 370 MB with it, 468 MB with a limit of 32 MB; CPU of
// loading is the same, of searching within 3 %.
class MappedBlocks {
 public:
  MappedBlocks() : lock_(mutex_) { Limit(kMapped); }
  ~MappedBlocks() { Limit(kUsual); }
  MappedBlocks(const MappedBlocks&) = delete;
  MappedBlocks& operator=(const MappedBlocks&) = delete;

 private:
  static constexpr int kMapped = 512 << 10;
  static constexpr int kUsual = 4 << 20;
  static void Limit([[maybe_unused]] int bytes) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, bytes);
    mallopt(M_TRIM_THRESHOLD, 2 * kUsual);
#endif
  }
  static inline std::mutex mutex_;
  std::lock_guard<std::mutex> lock_;
};

MDB_val ToVal(std::string_view bytes) {
  return MDB_val{bytes.size(), const_cast<char*>(bytes.data())};
}
std::string_view FromVal(const MDB_val& value) {
  return {static_cast<const char*>(value.mv_data), value.mv_size};
}

}  // namespace

ReadTransaction::ReadTransaction(ReadTransaction&& other) noexcept
    : environment_(other.environment_), txn_(std::exchange(other.txn_, nullptr)) {}
ReadTransaction::~ReadTransaction() {
  if (txn_ == nullptr) return;
  mdb_txn_abort(txn_);
  environment_->Ended();
}
Result<std::optional<std::string_view>> ReadTransaction::Get(Table table,
                                                             std::string_view key) const {
  return environment_->Get(txn_, table, key);
}
uint64_t ReadTransaction::Count(Table table) const {
  MDB_stat stat;
  return mdb_stat(txn_, table.dbi, &stat) == MDB_SUCCESS ? stat.ms_entries : 0;
}
std::optional<Table> ReadTransaction::FindTable(const char* name) const {
  Table table;
  if (mdb_dbi_open(txn_, name, 0, &table.dbi) != MDB_SUCCESS) return std::nullopt;
  table.seed = TableSeed(name);
  return table;
}

WriteTransaction::WriteTransaction(WriteTransaction&& other) noexcept
    : environment_(other.environment_), txn_(std::exchange(other.txn_, nullptr)) {}
WriteTransaction::~WriteTransaction() {
  if (txn_ == nullptr) return;
  mdb_txn_abort(txn_);
  environment_->Ended();
}
Result<std::optional<std::string_view>> WriteTransaction::Get(Table table,
                                                              std::string_view key) const {
  return environment_->Get(txn_, table, key);
}
Status WriteTransaction::Put(Table table, std::string_view key, std::string_view value) {
  MDB_val k = ToVal(key), v{value.size() + kSumBytes, nullptr};
  GANNET_RETURN_IF_ERROR(
      ToStatus(mdb_put(txn_, table.dbi, &k, &v, MDB_RESERVE), "storing a record"));
  char* const to = static_cast<char*>(v.mv_data);
  const uint32_t sum = SumOf(table.seed, key, value);
  if (!value.empty()) std::memcpy(to, value.data(), value.size());
  std::memcpy(to + value.size(), &sum, sizeof(sum));
  return Status::Ok();
}
Status WriteTransaction::Delete(Table table, std::string_view key) {
  MDB_val k = ToVal(key);
  const int code = mdb_del(txn_, table.dbi, &k, nullptr);
  return code == MDB_NOTFOUND ? Status::Ok() : ToStatus(code, "deleting a record");
}
Status WriteTransaction::Clear(Table table) {
  return ToStatus(mdb_drop(txn_, table.dbi, 0), "emptying a table");
}
Status WriteTransaction::Commit() {
  const int code = mdb_txn_commit(std::exchange(txn_, nullptr));
  environment_->Ended();
  return ToStatus(WriteCode(code, environment_->path_), "committing");
}

Cursor::Cursor(const ReadTransaction& txn, Table table) : table_(table) {
  if (mdb_cursor_open(txn.txn_, table.dbi, &cursor_) != MDB_SUCCESS) cursor_ = nullptr;
}
Cursor::~Cursor() {
  if (cursor_ != nullptr) mdb_cursor_close(cursor_);
}
bool Cursor::Move(int operation) {
  if (cursor_ == nullptr) return false;
  MDB_val key = ToVal(key_), value;
  if (mdb_cursor_get(cursor_, &key, &value, static_cast<MDB_cursor_op>(operation)) != MDB_SUCCESS) {
    return false;
  }
  key_ = FromVal(key);
  value_ = Unsealed(table_.seed, key_, FromVal(value));
  return true;
}
bool Cursor::First() { return Move(MDB_FIRST); }
bool Cursor::Next() { return Move(MDB_NEXT); }

Result<std::unique_ptr<Environment>> Environment::Create(const std::string& path) {
  auto environment = std::unique_ptr<Environment>(new Environment(path, 0));
  GANNET_RETURN_IF_ERROR(environment->RenewLockFile());
  GANNET_RETURN_IF_ERROR(environment->OpenFile());
  GANNET_RETURN_IF_ERROR(environment->PutForm());
  return environment;
}

Result<std::unique_ptr<Environment>> Environment::Open(const std::string& path) {
  auto environment = std::unique_ptr<Environment>(new Environment(path, 0));
  GANNET_ASSIGN_OR_RETURN(const bool has_form, environment->Check());
  GANNET_RETURN_IF_ERROR(environment->RenewLockFile());
  GANNET_RETURN_IF_ERROR(environment->OpenFile());
  if (!has_form) GANNET_RETURN_IF_ERROR(environment->PutForm());
  return environment;
}

Result<std::unique_ptr<Environment>> Environment::OpenReadOnly(const std::string& path) {
  auto environment = std::unique_ptr<Environment>(new Environment(path, MDB_RDONLY | MDB_NOLOCK));
  GANNET_RETURN_IF_ERROR(environment->Check().status());
  GANNET_RETURN_IF_ERROR(environment->OpenFile());
  return environment;
}

Result<std::optional<std::string_view>> Environment::Get(MDB_txn* txn, Table table,
                                                         std::string_view key) const {
  MDB_val k = ToVal(key), value;
  const int code = mdb_get(txn, table.dbi, &k, &value);
  // LMDB refuses keys that are empty or too long to be stored.
  if (code == MDB_NOTFOUND || code == MDB_BAD_VALSIZE) return std::optional<std::string_view>();
  GANNET_RETURN_IF_ERROR(ToStatus(code, "reading a record"));
  const auto unsealed = Unsealed(table.seed, key, FromVal(value));
  if (!unsealed) return Damaged(key);
  return unsealed;
}

Status Environment::Damaged(std::string_view key) const {
  return Status::Corruption(path_ + " is damaged: the value of `" +
                            std::string(key.substr(0, 100)) + "`");
}

Result<bool> Environment::Check() {
  std::string last;
  uint64_t seed = TableSeed(last);
  std::optional<std::string> form, damaged;
  bool has_records = false;
  const Status status =
      CheckPages(path_, [&](std::string_view table, std::string_view key, std::string_view value) {
        if (table != last) {
          last = table;
          seed = TableSeed(table);
        }
        has_records = true;
        const auto unsealed = Unsealed(seed, key, value);
        if (!unsealed && !damaged) damaged = std::string(key);
        if (unsealed && table == kSumsTable && key == kSumsKey) form = std::string(*unsealed);
        return Status::Ok();
      });
  if (status.code() == StatusCode::kNotFound) return Status::Corruption(status.message());
  GANNET_RETURN_IF_ERROR(status);
  if (form && form != kForm) return Status::Corruption(path_ + " was written by another version");
  if (damaged) return Damaged(*damaged);
  if (!form && has_records) return Status::Corruption(path_ + " is damaged: it has lost a table");
  return form.has_value();
}

Status Environment::PutForm() {
  GANNET_ASSIGN_OR_RETURN(WriteTransaction transaction, Write());
  GANNET_ASSIGN_OR_RETURN(const Table sums, OpenTable(transaction, kSumsTable));
  GANNET_RETURN_IF_ERROR(transaction.Put(sums, kSumsKey, kForm));
  return transaction.Commit();
}

Status Environment::RenewLockFile() const {
  const std::string lock = path_ + "-lock";
  if (unlink(lock.c_str()) != 0 && errno != ENOENT)
    return Status::Io("removing " + lock + ": " + std::strerror(errno));
  const int descriptor = open(lock.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  if (descriptor < 0) return ToStatus(errno, "creating a lock file");
  // LMDB writes to it through memory: where the disk is full, that would end the process.
  const int code = posix_fallocate(descriptor, 0, kLockBytes);
  close(descriptor);
  return ToStatus(code == EOPNOTSUPP || code == EINVAL ? 0 : code, "reserving a lock file");
}

Status Environment::OpenFile() {
  MDB_env* env;
  GANNET_RETURN_IF_ERROR(ToStatus(mdb_env_create(&env), "creating an environment"));
  mdb_env_set_mapsize(env, kMapBytes);
  mdb_env_set_maxdbs(env, 16);
  mdb_env_set_maxreaders(env, 1024);
  int code;
  {
    const MappedBlocks mapped;
    code =
        mdb_env_open(env, path_.c_str(), flags_ | MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD, 0600);
  }
  if (int dead = 0; code == MDB_SUCCESS && (flags_ & MDB_NOLOCK) == 0) mdb_reader_check(env, &dead);
  // Tables get their numbers in the order in which they are opened.
  for (const auto& [name, table] : tables_) {
    MDB_txn* txn;
    MDB_dbi number = 0;
    if (code == MDB_SUCCESS) code = mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn);
    if (code != MDB_SUCCESS) break;
    code = mdb_dbi_open(txn, name.c_str(), 0, &number);
    if (code == MDB_SUCCESS && number != table.dbi) code = MDB_BAD_DBI;
    if (code == MDB_SUCCESS) {
      code = mdb_txn_commit(txn);
    } else {
      mdb_txn_abort(txn);
    }
  }
  if (code != MDB_SUCCESS) {
    mdb_env_close(env);
    return ToStatus(WriteCode(code, path_), ("opening " + path_).c_str());
  }
  env_ = env;
  return Status::Ok();
}

Environment::~Environment() {
  if (env_ != nullptr) mdb_env_close(env_);
}

void Environment::Ended() {
  const std::lock_guard lock(mutex_);
  --open_transactions_;
}

Result<MDB_txn*> Environment::Begin(unsigned flags) {
  for (bool again = false;; again = true) {
    MDB_env* env;
    {
      const std::lock_guard lock(mutex_);
      if (env_ == nullptr) GANNET_RETURN_IF_ERROR(OpenFile());
      ++open_transactions_;
      env = env_;
    }
    MDB_txn* txn;
    const int code = mdb_txn_begin(env, nullptr, flags, &txn);
    if (code == MDB_SUCCESS) return txn;
    const std::lock_guard lock(mutex_);
    --open_transactions_;
    if (code != MDB_PANIC || again || open_transactions_ > 0)
      return ToStatus(code, "beginning a transaction");
    mdb_env_close(std::exchange(env_, nullptr));
  }
}

Result<Table> Environment::OpenTable(WriteTransaction& transaction, const char* name) {
  Table table;
  GANNET_RETURN_IF_ERROR(
      ToStatus(mdb_dbi_open(transaction.txn_, name, MDB_CREATE, &table.dbi), "opening a table"));
  table.seed = TableSeed(name);
  const std::lock_guard lock(mutex_);
  const bool is_known = std::any_of(tables_.begin(), tables_.end(),
                                    [&](const auto& known) { return known.first == name; });
  if (!is_known) tables_.emplace_back(name, table);
  return table;
}

Result<Table> Environment::OpenTable(const char* name) {
  GANNET_ASSIGN_OR_RETURN(WriteTransaction transaction, Write());
  GANNET_ASSIGN_OR_RETURN(const Table table, OpenTable(transaction, name));
  GANNET_RETURN_IF_ERROR(transaction.Commit());
  return table;
}

Result<ReadTransaction> Environment::Read() {
  GANNET_ASSIGN_OR_RETURN(MDB_txn* const txn, Begin(MDB_RDONLY));
  return ReadTransaction(this, txn);
}

Result<WriteTransaction> Environment::Write() {
  GANNET_ASSIGN_OR_RETURN(MDB_txn* const txn, Begin(0));
  return WriteTransaction(this, txn);
}

Status Environment::CopyTo(const std::string& path) {
  // The file is not reopened while a transaction is open.
  GANNET_ASSIGN_OR_RETURN(const auto held, Read());
  const int code = mdb_env_copy2(env_, path.c_str(), MDB_CP_COMPACT);
  return ToStatus(WriteCode(code, path), "copying");
}

std::pair<uint64_t, uint64_t> Environment::Sizes() {
  MDB_envinfo info;
  MDB_stat stat;
  mdb_filehandle_t file;
  struct stat status {};
  const std::lock_guard lock(mutex_);
  if (env_ == nullptr) return {0, 0};
  if (mdb_env_info(env_, &info) != MDB_SUCCESS || mdb_env_stat(env_, &stat) != MDB_SUCCESS ||
      mdb_env_get_fd(env_, &file) != MDB_SUCCESS || fstat(file, &status) != 0) {
    return {0, 0};
  }
  return {static_cast<uint64_t>(status.st_blocks) * 512, (info.me_last_pgno + 1) * stat.ms_psize};
}

}  // namespace gannet::store
