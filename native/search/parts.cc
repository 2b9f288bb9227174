#include "search/parts.h"

#include <algorithm>
#include <utility>

namespace gannet::search {

void AppendParts(size_t segment, DocSet documents, uint64_t together, std::vector<Part>& parts) {
  const size_t most = PartDocuments();
  if (documents.empty()) return;
  if (together < SharedDocumentsMin() || documents.size() <= most) return parts.push_back({segment, std::move(documents)});
  std::vector<DocId> docids;
  documents.ToVector(docids);
  for (size_t begin = 0; begin < docids.size(); begin += most) {
    parts.push_back({segment, DocSet::FromSorted(std::span(docids).subspan(begin, std::min(most, docids.size() - begin)))});
  }
}

std::vector<Part> PartsOf(const index::Snapshot& snapshot, const DocSet& documents) {
  std::vector<Part> parts;
  for (size_t s = 0; s < snapshot.segments.size(); ++s) {
    AppendParts(s, snapshot.segments.size() == 1 ? documents : documents & snapshot.segments[s]->live, documents.size(), parts);
  }
  return parts;
}

}  // namespace gannet::search
