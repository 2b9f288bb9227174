// Documents that stand at fixed places of an answer (docs/behaviour/search-rules.md).
#pragma once

#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "index/index.h"
#include "search/ranking/rank.h"
#include "search/request.h"

namespace gannet::search {

// A pin whose document is there and meets the filter.
struct PinnedDocument {
  DocId docid;
  uint32_t position = 0;
};

// The documents that pins name, where there are such, in the order of precedence. To be called
// before the snapshot is taken that is searched: an older one could lack what they name.
Result<std::vector<PinnedDocument>> FindPins(index::Index& index, const std::vector<Pin>& pins);

// Those of them that are in the snapshot and meet the filter of the request, each document once, by
// position; `request.excluded` becomes the set of them, `request.matching` what the filter was
// found to leave within the time of a search.
Status KeepPins(const index::Snapshot& snapshot, SearchRequest& request,
                std::vector<PinnedDocument>& pins);

// One place of a page.
struct PlacedHit {
  Hit hit;
  const PinnedDocument* pin = nullptr;  // null: its rank put it there
};

// Fills places from the first one: a pin whose position has come, else the next ordinary hit; pins
// that are left follow. Only the places of the window are kept.
// hits  the ordinary ones; of the first place on where there are pins, else of the window
// Lifetime: borrows the pins.
std::vector<PlacedHit> PlaceHits(const std::vector<Hit>& hits,
                                 const std::vector<PinnedDocument>& pins, Window window);

}  // namespace gannet::search
