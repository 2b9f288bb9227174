// Collects what the steps of a batch do to each document, before any document is written.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/block_vector.h"
#include "base/bytes.h"
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
  // Releases mapped pages. The bytes stay readable; reading them again takes them from the system's
  // page cache.
  void ReleasePages() const;

 private:
  std::string_view bytes_;
  void* map_ = nullptr;
};

// The payloads of a batch. Their bytes are read several times, and the files may be long: the pages
// mapped for them are released from time to time.
//
// Threads: `Hold` has one caller, while no thread reads; any number may call `Read`.
class Payloads {
 public:
  // Bytes read between two releases of pages.
  static constexpr uint64_t kResidentBytes = uint64_t{64} << 20;
  static constexpr uint64_t kPageBytes = 4096;

  std::string_view Hold(std::unique_ptr<Payload> payload);
  // Reports that bytes were read. The bytes stay readable.
  void Read(uint64_t bytes) const;

 private:
  std::vector<std::unique_ptr<Payload>> held_;
  mutable std::atomic<uint64_t> read_{0};
};

enum class Action : uint8_t { kReplace, kUpdate, kDelete };

inline constexpr uint32_t kNone = ~uint32_t{0};

// One action on one document. Actions on the same document are linked in order. Kept small: a batch
// may have millions.
struct Operation {
  const char* bytes;  // of the document's JSON, minified or not; null for kDelete
  uint32_t size;
  uint32_t next;  // number of the following operation on the same document, or kNone
  Action action;
  bool skip_creation;
  std::string_view document() const { return {bytes, size}; }
};

struct TouchedDocument {
  const char* id_bytes;  // follows its length, u16
  uint32_t first, last;  // indexes of operations
  DocId docid;           // kNone until it is found or given
  bool stored;           // it was there before the batch
  bool exists;           // exists after the operations so far
  // external
  std::string_view id() const { return {id_bytes + 2, LoadFixed<uint16_t>(id_bytes)}; }
};

struct StepOutcome {
  Status status;
  uint64_t indexed = 0, deleted = 0;
};

class Operations {
 public:
  // deleted: documents that an earlier step of the batch has deleted by filter.
  // cleared: whether an earlier step has deleted everything.
  Operations(const index::Snapshot& before, index::Index::ExternalIds& ids, const DocSet& deleted,
             bool cleared);

  std::string primary_key;
  bool has_primary_key = false;

  // Adds the documents of a payload, whose bytes must outlive this object. An error leaves what was
  // collected before unchanged. payloads: those of the batch.
  Status AddDocuments(std::string_view payload, const Payloads& payloads, bool ndjson, bool update,
                      bool skip_creation, const std::string& primary_key_given,
                      bool primary_key_is_given, StepOutcome& outcome);
  // Adds a deletion. Returns whether the document existed at this point of the batch.
  bool AddDeletion(std::string_view id);

  BlockVector<TouchedDocument>& touched() { return touched_; }
  const Operation& operation(uint32_t number) const { return operations_[number]; }
  size_t size() const { return operations_.size(); }
  // Dimensions by embedder of the settings, as far as they are known.
  const std::vector<uint32_t>& dimensions() const { return dimensions_; }
  // Memory held for the operations.
  uint64_t memory_bytes() const;

 private:
  // Reads the id of a document. vectors: the value of `_vectors`; empty if there is none.
  Status ReadId(std::string_view document, std::string& id, std::string_view& vectors) const;
  // Checks the shape and length of the vectors of a document that is sent. missing: whether it
  // lacks vectors that only the document can provide.
  Status CheckVectors(std::string_view id, std::string_view vectors, bool& missing);
  // Refuses new documents that lack vectors which only they can provide. sent: all of the payload,
  // (id, document, whether some are missing).
  struct Sent {
    const char* id;
    const char* document;
    uint32_t size;
    bool missing;
  };
  Status CheckMissing(const BlockVector<Sent>& sent) const;
  // Whether the document exists at this point of the batch.
  bool Exists(std::string_view id) const;
  // Returns whether the document existed before the operation. id_bytes: from KeepId.
  bool Add(const char* id_bytes, Operation operation);
  const char* Keep(std::string_view bytes);
  const char* KeepId(std::string_view id);

  const index::Snapshot& before_;
  index::Index::ExternalIds& ids_;
  const DocSet& deleted_;
  bool cleared_;
  std::vector<uint32_t> dimensions_;
  BlockVector<Operation> operations_;
  BlockVector<TouchedDocument> touched_;
  // State of the payload that is being added: its first operation, and how many documents it
  // touches.
  uint32_t payload_first_ = 0;
  uint64_t distinct_ = 0;
  std::vector<uint32_t> slots_;  // hash table over touched_: index + 1
  std::vector<std::unique_ptr<char[]>> arena_;
  char* arena_at_ = nullptr;  // the free part of a block
  size_t arena_left_ = 0;
};

// The primary key that the first document of a payload suggests. Invalid: no candidate or several.
Result<std::string> InferPrimaryKey(std::string_view document);

}  // namespace gannet::indexing
