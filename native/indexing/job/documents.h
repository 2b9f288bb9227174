// The documents of a batch: their docids, the deleted ones, and their segments.
#pragma once

#include "base/status.h"
#include "indexing/job/batch.h"
#include "indexing/job/steps.h"

namespace gannet::indexing {

// Writes the documents that the steps want, and adds them to the commit.
Status WriteDocuments(Batch& batch, const CollectedSteps& steps);

}  // namespace gannet::indexing
