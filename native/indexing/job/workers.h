// Writes changes of documents to segment files, in several threads.
#pragma once

#include <map>
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

// By field: how many more, or fewer, documents have it.
using DistributionChange = std::map<FieldId, int64_t>;

// Makes the embeddings that the documents lack, then their segments, which are added to the commit.
Result<DistributionChange> WriteSegments(Batch& batch, Work& work);

}  // namespace gannet::indexing
