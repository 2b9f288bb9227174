// Documents that expire: those whose date in the attribute `expiresAtAttribute` has passed
// (docs/behaviour/expiry.md).
#pragma once

#include <memory>

#include "bitmap/docset.h"
#include "index/snapshot.h"

namespace gannet::index {

// The live documents with a date at or before `now`. None without the setting.
DocSet ExpiredAt(const Snapshot& snapshot, double now);

// The first date after `after` of a live document; infinity: there is none. Now and then earlier,
// when very many dates in different forms belong to dead documents only.
double NextExpiry(const Snapshot& snapshot, double after);

// The snapshot as if these documents were deleted.
std::shared_ptr<const Snapshot> Without(const Snapshot& snapshot, const DocSet& documents);

}  // namespace gannet::index
