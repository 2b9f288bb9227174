// Documents pinned to fixed positions of the result (docs/behaviour/search-rules.md).
#pragma once

#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "index/index.h"
#include "search/ranking/rank.h"
#include "search/request.h"

namespace gannet::search {

// The documents that pins name, as far as they exist, in order of precedence. Call it before taking
// the snapshot that is searched: an older snapshot might lack these documents.
Result<std::vector<PinnedDocument>> FindPins(index::Index& index, const std::vector<Pin>& pins);

// Keeps the pins whose document is in the snapshot and matches the filter of the request, each
// document once, ordered by position. Stores the set of these documents in `request.pinned`, the
// set of these and of the hidden documents in `request.excluded`, their positions in
// `request.pinned_at`, and in `request.matching` the documents that the filter was found to match
// within the time limit.
Status KeepPins(const index::Snapshot& snapshot, SearchRequest& request,
                std::vector<PinnedDocument>& pins);

// The hit at one position of a page.
struct PageHit {
  Hit hit;
  const PinnedDocument* pin = nullptr;  // null: a ranked hit
};

// Returns the positions of the window, each with the pin for that position if there is one, else
// with the next ranked hit. Pins left over follow the last hit.
// hits  ranked hits: if there are pins, all from the first one; else only those of the window
// Lifetime: the result borrows the pins.
std::vector<PageHit> InsertPins(const std::vector<Hit>& hits,
                                const std::vector<PinnedDocument>& pins, Window window);

}  // namespace gannet::search
