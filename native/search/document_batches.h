// Documents in batches that are read one by one, or by several threads where they are many (base/parallel_for.h).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/parallel_for.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/large_bucket.h"

namespace gannet::search {

struct DocumentBatch {
  size_t segment;
  DocSet documents;  // ascending from batch to batch of one segment; not empty
};

// `documents`, which the segment has, if any: one batch where few are read together. Adds to `batches`. together: in all segments.
void AppendBatches(size_t segment, DocSet documents, uint64_t together, std::vector<DocumentBatch>& batches);
// The live ones of `documents`, segment by segment.
std::vector<DocumentBatch> BatchesOf(const index::Snapshot& snapshot, const DocSet& documents);

// Calls read(const DocumentBatch&, std::vector<T>& found) for each batch, on several threads at the same time where there are many
// documents. What is found, by batch.
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
