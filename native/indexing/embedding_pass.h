// The pass of a batch that makes embeddings, before anything is written: documents whose text may
// have changed are handed out in chunks, and the results are held in a temporary file until the
// documents are written.
//
// Chunks are JSON, results are bytes; see src/embedding/render.ts and
// src/embedding/chunk-result.ts. Memory: a few chunks and their results at a time, and 16 bytes per
// embedder and document.
//
// Threads: one owner. Any number of threads may read the embeddings made.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "indexing/document_state.h"
#include "indexing/document_vectors.h"
#include "indexing/embed_calls.h"
#include "segment/spool.h"

namespace gannet::indexing {

// Embeddings in a temporary file.
class SpooledEmbeddings : public MadeEmbeddings {
 public:
  // folder: for the temporary file.
  SpooledEmbeddings(std::string folder, const std::vector<segment::EmbedderShape>& embedders);

  // Adds the embeddings of a document for an embedder, given by index; docids ascend for each
  // embedder. numbers: of all rows.
  void Add(size_t embedder, DocId docid, std::span<const segment::RowSource> sources,
           std::span<const float> numbers);
  // Call it after the last Add. Io, Full: the temporary file could not be written.
  Status Seal();
  std::optional<Rows> Find(size_t embedder, DocId docid) const override;

 private:
  struct Entry {
    DocId docid;
    uint32_t row_count;
    uint64_t offset;  // of the sources; the numbers follow
  };
  struct Embedder {
    uint32_t dimensions;
    std::vector<Entry> entries;
  };
  segment::Spool spool_;
  std::string_view bytes_;
  std::vector<Embedder> embedders_;
};

// Makes the embeddings of changed documents. Null: no embedder makes any. Errors of `calls` are
// returned. changes: ascending by docid.
Result<std::unique_ptr<SpooledEmbeddings>> EmbedDocuments(const DocumentSource& source,
                                                          std::span<const Change> changes,
                                                          const std::string& folder,
                                                          EmbedCalls& calls, Progress& progress);

}  // namespace gannet::indexing
