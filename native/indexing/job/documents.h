// The documents of a batch: which docids they get, which go, and their segments.
#pragma once

#include "base/status.h"
#include "indexing/job/batch.h"
#include "indexing/job/steps.h"

namespace gannet::indexing {

// Writes what the steps want of documents, and adds it to the commit.
Status WriteDocuments(Batch& batch, const CollectedSteps& steps);

}  // namespace gannet::indexing
