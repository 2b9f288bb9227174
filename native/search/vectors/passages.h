// The passages of a document that are nearest to the vector of a search.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/ids.h"
#include "index/snapshot.h"
#include "search/vectors/vector_scan.h"
#include "segment/rows.h"

namespace gannet::search {

// Appends a list of at most `count` passages of a live document, nearest first: the attribute that
// the embedder cuts, the bytes of its text, the similarity and the text. Embeddings that are not
// made again when the text changes name none.
// REQUIRES: embedder.chunked is not empty
// row  the document
void AppendPassages(const index::Snapshot& snapshot, const index::EmbedderSettings& embedder,
                    const VectorScan& scan, DocId docid, std::span<const segment::RowField> row,
                    uint64_t count, std::string& out);

}  // namespace gannet::search
