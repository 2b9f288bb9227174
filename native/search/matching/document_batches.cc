#include "search/matching/document_batches.h"

#include <algorithm>
#include <utility>

namespace gannet::search {

void AppendBatches(size_t segment, DocSet documents, uint64_t together,
                   std::vector<DocumentBatch>& batches) {
  const size_t max = BatchDocuments();
  if (documents.empty()) return;
  if (together < SharedDocumentsMin() || documents.size() <= max)
    return batches.push_back({segment, std::move(documents)});
  std::vector<DocId> docids;
  documents.ToVector(docids);
  for (size_t begin = 0; begin < docids.size(); begin += max) {
    batches.push_back({segment, DocSet::FromSorted(std::span(docids).subspan(
                                    begin, std::min(max, docids.size() - begin)))});
  }
}

std::vector<DocumentBatch> BatchesOf(const index::Snapshot& snapshot, const DocSet& documents) {
  std::vector<DocumentBatch> batches;
  for (size_t s = 0; s < snapshot.segments.size(); ++s) {
    AppendBatches(
        s, snapshot.segments.size() == 1 ? documents : documents & snapshot.segments[s]->live,
        documents.size(), batches);
  }
  return batches;
}

}  // namespace gannet::search
