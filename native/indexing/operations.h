// What the steps of a batch do to which document, before any document is written.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/json_value.h"
#include "base/status.h"
#include "index/index.h"

namespace gannet::indexing {

// Bytes of a payload: a mapped file, or borrowed.
class Payload {
 public:
  static Result<std::unique_ptr<Payload>> Map(const std::string& path);
  explicit Payload(std::string_view bytes) : bytes_(bytes) {}
  ~Payload();
  Payload(const Payload&) = delete;
  std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
  void* map_ = nullptr;
};

enum class Action : uint8_t { kReplace, kUpdate, kDelete };

// One action on one document. Those on the same document are linked in order.
struct Operation {
  Action action;
  bool skip_creation;
  uint32_t step;
  uint32_t next;              // number of the following operation on the same document, or kNone
  std::string_view document;  // its JSON, minified or not; empty for kDelete
};
inline constexpr uint32_t kNone = ~uint32_t{0};

struct TouchedDocument {
  std::string_view id;  // external
  uint32_t first, last;  // operations
  DocId docid;           // kNone until it is known or given
  bool stored;           // it was there before the batch
  bool exists;           // after the operations so far
};

struct StepOutcome {
  Status status;
  uint64_t indexed = 0, deleted = 0;
};

class Operations {
 public:
  // deleted: documents that an earlier step of the batch has deleted by filter.
  // cleared: an earlier step has deleted everything.
  Operations(const index::Snapshot& before, const index::Index::ExternalIds& ids, const DocSet& deleted, bool cleared);

  std::string primary_key;
  bool has_primary_key = false;

  // Adds the documents of a payload. A fault leaves what was collected before untouched.
  Status AddDocuments(uint32_t step, std::string_view payload, bool ndjson, bool update, bool skip_creation,
                      const std::string& primary_key_given, bool primary_key_is_given, StepOutcome& outcome);
  // Whether the document existed at this point of the batch.
  bool AddDeletion(uint32_t step, const std::string& id);

  std::span<TouchedDocument> touched() { return touched_; }
  const Operation& operation(uint32_t number) const { return operations_[number]; }
  size_t size() const { return operations_.size(); }

 private:
  struct Entry {
    std::string_view id, document;
  };
  Status ReadId(std::string_view document, std::string& id) const;
  // Whether the document existed before the operation.
  bool Add(std::string_view id, Operation operation);
  std::string_view Keep(std::string_view id);

  const index::Snapshot& before_;
  const index::Index::ExternalIds& ids_;
  const DocSet& deleted_;
  bool cleared_;
  std::vector<Operation> operations_;
  std::vector<TouchedDocument> touched_;
  std::vector<uint32_t> slots_;  // hash table over touched_: number + 1
  std::deque<std::string> arena_;
};

// The primary key that the first document of a payload suggests. Invalid: none or several candidates.
Result<std::string> InferPrimaryKey(std::string_view document);

}  // namespace gannet::indexing
