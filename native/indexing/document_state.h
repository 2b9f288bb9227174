// The row and the embeddings of one document, before and after a batch.
//
// Threads: one owner; what it reads is shared and does not change during the batch.
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
  uint32_t touched;  // index in Operations::touched(), or kNone: the stored row is unchanged
};

// What documents are made from.
struct DocumentSource {
  const index::Snapshot* before = nullptr;
  std::shared_ptr<const index::FieldMap> fields;
  const index::Settings* settings = nullptr;      // those in force after the batch
  std::vector<segment::EmbedderShape> embedders;  // of `settings`
  std::vector<Remake> remakes;                    // by embedder; empty: nothing is remade
  const MadeEmbeddings* made = nullptr;
  Operations* operations = nullptr;    // null when stored rows are read again
  const Payloads* payloads = nullptr;  // where the documents of operations are
};

class DocumentState {
 public:
  explicit DocumentState(const DocumentSource& source);

  // Reads the stored document and applies the operations to it. The results of the accessors are
  // valid until the next call. False: the document is not to be stored. Corruption: the stored
  // document is damaged. Invalid: see DocumentVectors::BeginStored.
  Result<bool> Resolve(const Change& change);

  const std::string& id() const { return id_; }
  bool stored() const { return stored_; }
  std::string_view old_row() const { return old_row_; }
  const std::vector<segment::RowField>& old_fields() const { return old_fields_; }
  // In field order. Values may be formatted as they were sent.
  std::vector<segment::RowField>& fields() { return fields_; }
  const DocumentVectors& vectors() const { return vectors_; }
  // Whether the part of `_vectors` that the row keeps has changed, although no operation touched
  // the document.
  bool kept_changed() const { return kept_changed_; }
  // The field id of `_vectors`, which is not an attribute.
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
