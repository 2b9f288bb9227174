// The member `_vectors` of a document in an answer (embedders.md 10.4).
#pragma once

#include <span>
#include <string>

#include "base/status.h"
#include "index/snapshot.h"

namespace gannet::search {

// Appends the object: each embedder of the index with the embeddings of a live document, then the
// names that are no embedders as they are stored in its field `_vectors`. row: of the document.
// Corruption: a stored vector is damaged.
Status AppendStoredVectors(const index::Snapshot& snapshot, DocId docid,
                           std::span<const segment::RowField> row, std::string& out);

}  // namespace gannet::search
