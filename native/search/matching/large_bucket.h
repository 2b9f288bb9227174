// The size from which a bucket is split with posting lists instead of by reading its documents.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/tuning.h"

namespace gannet::search {

// Smaller buckets are faster to read.
inline uint64_t LargeBucketMin() { return Tuned().large_bucket_min; }

// The number of documents from which idle threads help to read, and the size of a batch then.
inline uint64_t SharedDocumentsMin() { return 2 * LargeBucketMin(); }
inline uint64_t BatchDocuments() { return std::max<uint64_t>(LargeBucketMin() / 2, 1); }

// The number of lists from which idle threads help to join them.
inline uint64_t SharedListsMin() { return LargeBucketMin(); }

}  // namespace gannet::search
