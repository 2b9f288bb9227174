// Typed access to one LMDB file: an environment, its transactions, its tables.
//
// A file is read as a whole before LMDB gets it (store/page_check.h), and each value carries a
// checksum (store/sealed_value.h): damage is told when the file is opened or the value is read, as
// Corruption that names the file, and never as another value, an absent one or the end of the
// process. Files of before there were checksums get them when they are opened for writing. The lock
// file of LMDB is made anew: what keeps two processes apart is the lock of the data folder.
//
// The only folder that includes lmdb.h. Everything read is borrowed from the map and valid until
// its transaction ends. Source: lmdb.h (caveats), LMDB 0.9.29.
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
  uint64_t seed = 0;  // of its checksums
};

class Environment;

class ReadTransaction {
 public:
  ReadTransaction(ReadTransaction&& other) noexcept;
  ReadTransaction& operator=(ReadTransaction&&) = delete;
  ~ReadTransaction();

  // nullopt: there is no such record. Corruption, Io: that could not be found out, or the value is
  // damaged.
  Result<std::optional<std::string_view>> Get(Table table, std::string_view key) const;
  uint64_t Count(Table table) const;
  // A table that exists; for environments that are read only.
  std::optional<Table> FindTable(const char* name) const;

 private:
  friend class Environment;
  friend class Cursor;
  ReadTransaction(Environment* environment, MDB_txn* txn) : environment_(environment), txn_(txn) {}
  Environment* environment_;
  MDB_txn* txn_;
};

// Aborts when it is destroyed before Commit.
class WriteTransaction {
 public:
  WriteTransaction(WriteTransaction&& other) noexcept;
  WriteTransaction& operator=(WriteTransaction&&) = delete;
  ~WriteTransaction();

  Status Put(Table table, std::string_view key, std::string_view value);
  Status Delete(Table table, std::string_view key);  // absent key: ok
  Status Clear(Table table);
  // Durable once it returns ok. Full: no space left. The transaction is over in either case.
  Status Commit();

 private:
  friend class Environment;
  WriteTransaction(Environment* environment, MDB_txn* txn) : environment_(environment), txn_(txn) {}
  Environment* environment_;
  MDB_txn* txn_;
};

// Walks a table in key order. Dies before its transaction.
class Cursor {
 public:
  Cursor(const ReadTransaction& txn, Table table);
  Cursor(const Cursor&) = delete;
  ~Cursor();

  bool First();
  bool Next();
  std::string_view key() const { return key_; }
  // nullopt: it is damaged.
  std::optional<std::string_view> value() const { return value_; }

 private:
  bool Move(int operation);
  MDB_cursor* cursor_ = nullptr;
  const Table table_;
  const bool sealed_;
  std::string_view key_;
  std::optional<std::string_view> value_;
};

// After a failed write of its root page LMDB refuses everything until the file is opened again:
// that happens here, with the first transaction begun while no other is open.
class Environment {
 public:
  // `path`: the file, which is not there or has no bytes yet. REQUIRES, of all three: no process
  // has it open.
  static Result<std::unique_ptr<Environment>> Create(const std::string& path);
  // Corruption: the file is missing, empty or damaged.
  static Result<std::unique_ptr<Environment>> Open(const std::string& path);
  // The same, without writing anything.
  static Result<std::unique_ptr<Environment>> OpenReadOnly(const std::string& path);
  Environment(const Environment&) = delete;
  ~Environment();

  Result<Table> OpenTable(const char* name);
  Result<ReadTransaction> Read();
  Result<WriteTransaction> Write();
  // 1: values carry checksums. 2: long settings of an index are records of their own.
  static constexpr char kForm = '2';
  // Of the file; older ones than kForm are read as well.
  char form() const { return form_; }
  // Writes it, with the changes that make it true.
  Status PutForm(WriteTransaction& transaction, char form);
  // Writes the last committed state to a new file, without the pages that are free. Not synced.
  Status CopyTo(const std::string& path);
  // Bytes of the file, and of the pages in use.
  std::pair<uint64_t, uint64_t> Sizes();

 private:
  friend class ReadTransaction;
  friend class WriteTransaction;
  friend class Cursor;
  Environment(std::string path, unsigned flags) : path_(std::move(path)), flags_(flags) {}
  // Reads the whole file. Returns its tables; sets sealed_.
  Result<std::vector<std::string>> Check();
  // Gives each value its checksum, in one transaction. tables: all that there are.
  Status SealAll(const std::vector<std::string>& tables);
  Status RemoveLockFile() const;
  Result<Table> OpenTable(WriteTransaction& transaction, const char* name);
  Status Damaged(std::string_view key) const;
  // Opens the file, and the tables that were open, as env_. REQUIRES: env_ is null.
  Status OpenFile();
  Result<MDB_txn*> Begin(unsigned flags);
  void Ended();  // a transaction

  const std::string path_;
  const unsigned flags_;
  char form_ = '0';
  bool sealed_ = false;  // values carry checksums; all but those of old files that are only read
  std::mutex mutex_;     // guards what follows
  MDB_env* env_ = nullptr;
  std::vector<std::pair<std::string, Table>> tables_;
  uint64_t open_transactions_ = 0;
};

}  // namespace gannet::store
