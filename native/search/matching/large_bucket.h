// From which size on a bucket is split by posting lists instead of by reading its documents.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/tuning.h"

namespace gannet::search {

// Smaller buckets are read as quickly.
inline uint64_t LargeBucketMin() { return Tuned().large_bucket_min; }

// From how many documents on idle threads help to read them, and how many are read at a time then.
inline uint64_t SharedDocumentsMin() { return 2 * LargeBucketMin(); }
inline uint64_t BatchDocuments() { return std::max<uint64_t>(LargeBucketMin() / 2, 1); }

// From how many lists on idle threads help to join them.
inline uint64_t SharedListsMin() { return LargeBucketMin(); }

}  // namespace gannet::search
