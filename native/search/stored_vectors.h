// The member `_vectors` of a document in an answer (embedders.md 10.4).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "index/snapshot.h"

namespace gannet::search {

// Appends the object: each embedder of the index with the embeddings of a live document, then the names that are no embedders as they
// are stored in the document. kept: the value of its field `_vectors`; empty: none.
// Corruption: a stored vector is damaged.
Status AppendStoredVectors(const index::Snapshot& snapshot, DocId docid, std::string_view kept, std::string& out);

}  // namespace gannet::search
