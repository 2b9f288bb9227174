// The embeddings that are stored with a document.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "index/snapshot.h"

namespace gannet::search {

// Appends the member `_vectors` of a document in a response (embedders.md 10.4): each embedder of
// the index with the embeddings of a live document, then the names that are not embedders, as
// stored in the field `_vectors` of the document. row: that of the document. Corruption: a stored
// vector is damaged.
Status AppendStoredVectors(const index::Snapshot& snapshot, DocId docid,
                           std::span<const segment::RowField> row, std::string& out);

// The embeddings of a live document for an embedder, in order; empty if it has none.
// Corruption: a stored vector is damaged.
Result<std::vector<std::vector<float>>> ReadEmbeddings(const index::Snapshot& snapshot,
                                                       const index::EmbedderSettings& embedder,
                                                       DocId docid);

}  // namespace gannet::search
