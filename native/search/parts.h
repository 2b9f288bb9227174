// Documents in parts that are read one by one, or by several threads where they are many (base/pieces.h).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/pieces.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/large_bucket.h"

namespace gannet::search {

struct Part {
  size_t segment;
  DocSet documents;  // ascending from part to part of one segment; not empty
};

// `documents`, which the segment has, if any: one part where few are read together. Adds to `parts`. together: in all segments.
void AppendParts(size_t segment, DocSet documents, uint64_t together, std::vector<Part>& parts);
// The live ones of `documents`, segment by segment.
std::vector<Part> PartsOf(const index::Snapshot& snapshot, const DocSet& documents);

// Calls read(const Part&, std::vector<T>& found) for each part, on several threads at the same time where there are many
// documents. What is found, by part.
template <typename T, typename Read>
std::vector<std::vector<T>> ReadParts(std::span<const Part> parts, Read&& read) {
  std::vector<std::vector<T>> found(parts.size());
  uint64_t documents = 0;
  for (const Part& part : parts) documents += part.documents.size();
  if (documents >= SharedDocumentsMin()) {
    ForEachPiece(parts.size(), [&](size_t i) { read(parts[i], found[i]); });
  } else {
    for (size_t i = 0; i < parts.size(); ++i) read(parts[i], found[i]);
  }
  return found;
}

}  // namespace gannet::search
