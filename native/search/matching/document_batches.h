// Splitting documents into batches that threads read at the same time (base/parallel_for.h).
//
// Few documents form one batch per segment, read by the calling thread. If there are at least
// SharedDocumentsMin() documents, a batch has BatchDocuments() documents and idle threads help.
//
// Threads: pure functions; `read` of ReadBatches runs on several threads.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/parallel_for.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/matching/large_bucket.h"

namespace gannet::search {

struct DocumentBatch {
  size_t segment;  // number of the segment in the snapshot
  // Not empty; all docids are greater than those of the segment's previous batch.
  DocSet documents;
};

// Adds the batches of one segment to `batches`.
// segment      number of the segment in the snapshot
// documents    documents of the segment; may be empty
// together     number of documents read together in all segments; decides whether to split
void AppendBatches(size_t segment, DocSet documents, uint64_t together,
                   std::vector<DocumentBatch>& batches);
// The batches of the live documents among `documents`, segment by segment.
std::vector<DocumentBatch> BatchesOf(const index::Snapshot& snapshot, const DocSet& documents);

// Calls read(const DocumentBatch&, std::vector<T>& found) once per batch, on several threads if
// there are many documents. Returns what each batch found, in the order of `batches`.
template <typename T, typename Read>
std::vector<std::vector<T>> ReadBatches(std::span<const DocumentBatch> batches, Read&& read) {
  std::vector<std::vector<T>> found(batches.size());
  uint64_t documents = 0;
  for (const DocumentBatch& batch : batches) documents += batch.documents.size();
  if (documents >= SharedDocumentsMin()) {
    ParallelFor(batches.size(), [&](size_t i) { read(batches[i], found[i]); });
  } else {
    for (size_t i = 0; i < batches.size(); ++i) read(batches[i], found[i]);
  }
  return found;
}

}  // namespace gannet::search
