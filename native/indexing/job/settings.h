// A change of settings in a batch.
#pragma once

#include "base/status.h"
#include "indexing/job/batch.h"
#include "indexing/job/steps.h"

namespace gannet::indexing {

// Adds new settings to the commit, with the columns or the segments that they need.
Status ApplySettings(Batch& batch, const CollectedSteps& steps,
                     const CollectedSteps::SettingsChange& change);

}  // namespace gannet::indexing
