// Typed access to one LMDB file: an environment, its transactions, its tables.
//
// The whole file is checked before LMDB opens it (store/page_check.h), and each value carries a
// checksum (store/sealed_value.h). Damage is reported when the file is opened or the value is read,
// as Corruption that names the file; it never causes a wrong value, a missing value or a crash.
// LMDB's lock file is recreated: the lock of the data folder is what keeps two processes apart.
//
// The only folder that includes lmdb.h. All data read is borrowed from the map and valid until its
// transaction ends. Source: lmdb.h (caveats), LMDB 0.9.29.
//
// Threads: one write transaction at a time per environment (LMDB serialises them); a read
// transaction may move between threads (MDB_NOTLS) but is used by one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

struct MDB_env;
struct MDB_txn;
struct MDB_cursor;

namespace gannet::store {

// Address space of one environment, not memory: 47 bits hold two thousand of them.
inline constexpr size_t kMapBytes = size_t{64} << 30;

struct Table {
  unsigned int dbi = 0;
  uint64_t seed = 0;  // seed of its checksums
};

class Environment;

class ReadTransaction {
 public:
  ReadTransaction(ReadTransaction&& other) noexcept;
  ReadTransaction& operator=(ReadTransaction&&) = delete;
  ~ReadTransaction();

  // nullopt: there is no such record. Corruption, Io: reading failed, or the value is damaged.
  Result<std::optional<std::string_view>> Get(Table table, std::string_view key) const;
  uint64_t Count(Table table) const;
  // An existing table, for read-only environments; nullopt: there is none.
  std::optional<Table> FindTable(const char* name) const;

 private:
  friend class Environment;
  friend class Cursor;
  ReadTransaction(Environment* environment, MDB_txn* txn) : environment_(environment), txn_(txn) {}
  Environment* environment_;
  MDB_txn* txn_;
};

// Aborts if it is destroyed before Commit.
class WriteTransaction {
 public:
  WriteTransaction(WriteTransaction&& other) noexcept;
  WriteTransaction& operator=(WriteTransaction&&) = delete;
  ~WriteTransaction();

  // As ReadTransaction::Get, with what this transaction has written; valid until its next write.
  Result<std::optional<std::string_view>> Get(Table table, std::string_view key) const;
  Status Put(Table table, std::string_view key, std::string_view value);
  Status Delete(Table table, std::string_view key);  // an absent key is ok
  Status Clear(Table table);
  // Durable once it returns ok. Full: no space is left. The transaction is over in either case.
  Status Commit();

 private:
  friend class Environment;
  WriteTransaction(Environment* environment, MDB_txn* txn) : environment_(environment), txn_(txn) {}
  Environment* environment_;
  MDB_txn* txn_;
};

// Walks a table in key order. Must be destroyed before its transaction.
class Cursor {
 public:
  Cursor(const ReadTransaction& txn, Table table);
  Cursor(const Cursor&) = delete;
  ~Cursor();

  bool First();
  bool Next();
  std::string_view key() const { return key_; }
  // nullopt: the value is damaged.
  std::optional<std::string_view> value() const { return value_; }

 private:
  bool Move(int operation);
  MDB_cursor* cursor_ = nullptr;
  const Table table_;
  std::string_view key_;
  std::optional<std::string_view> value_;
};

// After a failed write of its root page LMDB refuses everything until the file is reopened. The
// first transaction that begins while no other is open reopens it.
class Environment {
 public:
  // Creates the environment in `path`, which does not exist yet or is empty. REQUIRES, for all
  // three: no process has the file open.
  static Result<std::unique_ptr<Environment>> Create(const std::string& path);
  // Corruption: the file is missing, empty or damaged.
  static Result<std::unique_ptr<Environment>> Open(const std::string& path);
  // Like Open, but writes nothing.
  static Result<std::unique_ptr<Environment>> OpenReadOnly(const std::string& path);
  Environment(const Environment&) = delete;
  ~Environment();

  Result<Table> OpenTable(const char* name);
  Result<ReadTransaction> Read();
  Result<WriteTransaction> Write();
  // Writes the last committed state to a new file, without free pages. Not synced.
  Status CopyTo(const std::string& path);
  // Bytes of the file, and of the pages in use.
  std::pair<uint64_t, uint64_t> Sizes();

 private:
  friend class ReadTransaction;
  friend class WriteTransaction;
  friend class Cursor;
  Environment(std::string path, unsigned flags) : path_(std::move(path)), flags_(flags) {}
  // Checks the whole file. Returns whether it has a form; only a new file without records has none.
  Result<bool> Check();
  Status PutForm();
  Status RenewLockFile() const;
  Result<Table> OpenTable(WriteTransaction& transaction, const char* name);
  Status Damaged(std::string_view key) const;
  // The value of a key, without its checksum.
  Result<std::optional<std::string_view>> Get(MDB_txn* txn, Table table,
                                              std::string_view key) const;
  // Opens the file as env_, and the tables that were open. REQUIRES: env_ is null.
  Status OpenFile();
  Result<MDB_txn*> Begin(unsigned flags);
  void Ended();  // a transaction has ended

  const std::string path_;
  const unsigned flags_;
  std::mutex mutex_;  // guards the members below
  MDB_env* env_ = nullptr;
  std::vector<std::pair<std::string, Table>> tables_;
  uint64_t open_transactions_ = 0;
};

}  // namespace gannet::store
