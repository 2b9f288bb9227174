// What becomes of one document in a batch: its row and its embeddings, before and after.
//
// Threads: one owner; what it reads from is shared and does not change meanwhile.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "index/snapshot.h"
#include "indexing/document_vectors.h"
#include "indexing/operations.h"
#include "segment/rows.h"

namespace gannet::indexing {

// A document to be written, or read again.
struct Change {
  DocId docid;
  uint32_t touched;  // of Operations, or kNone: the stored row as it is
};

// What documents are made from.
struct DocumentSource {
  const index::Snapshot* before = nullptr;
  std::shared_ptr<const index::FieldMap> fields;
  const index::Settings* settings = nullptr;      // that hold when the batch has ended
  std::vector<segment::EmbedderShape> embedders;  // of these
  std::vector<Remake> remakes;                    // likewise; none: nothing is made anew
  const MadeEmbeddings* made = nullptr;
  Operations* operations = nullptr;    // null when stored rows are read again
  const Payloads* payloads = nullptr;  // where the documents of operations are
};

class DocumentState {
 public:
  explicit DocumentState(const DocumentSource& source);

  // Reads what is stored and applies the operations to it; what the accessors give is valid until
  // the next call. False: the document is not to be stored. Corruption: what is stored is damaged.
  // Invalid: as DocumentVectors::BeginStored.
  Result<bool> Resolve(const Change& change);

  const std::string& id() const { return id_; }
  bool stored() const { return stored_; }
  std::string_view old_row() const { return old_row_; }
  const std::vector<segment::RowField>& old_fields() const { return old_fields_; }
  // In field order. Values may be as they were sent.
  std::vector<segment::RowField>& fields() { return fields_; }
  const DocumentVectors& vectors() const { return vectors_; }
  // What the row keeps of `_vectors` is another, although no operation touched the document.
  bool kept_changed() const { return kept_changed_; }
  // Of `_vectors`, which is no attribute.
  std::optional<FieldId> vectors_field() const { return vectors_field_; }

 private:
  Result<bool> ApplyOperations(const TouchedDocument& touched);
  std::string_view TakeVectors(std::vector<segment::RowField>& fields) const;
  void PutVectors();
  void Merge();

  const DocumentSource& source_;
  segment::RowCodec codec_;
  DocumentVectors vectors_;
  const std::optional<FieldId> vectors_field_;
  std::string id_;
  bool stored_ = false, kept_changed_ = false;
  std::string_view old_row_;
  std::vector<segment::RowField> fields_, sent_, merged_, old_fields_;
};

}  // namespace gannet::indexing
