// Writes changes of documents to segment files, in several threads.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "indexing/document_state.h"
#include "indexing/job/batch.h"
#include "segment/rows.h"

namespace gannet::indexing {

// Documents to be written, and what is needed to write them.
struct Work : DocumentSource {
  std::vector<index::FieldTraits> traits;
  std::shared_ptr<const text::Analyzer> analyzer;
  std::shared_ptr<const segment::RowDictionary> dictionary;
  std::vector<Change> changes;  // ascending by docid
};

// Makes the embeddings that the documents lack, then their segments, which are added to the commit.
// Returns the change of the distribution.
Result<index::Distribution> WriteSegments(Batch& batch, Work& work);

}  // namespace gannet::indexing
