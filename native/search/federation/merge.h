// Merging the lists of the queries into one.
#pragma once

#include <memory>
#include <vector>

#include "search/federation/federation.h"
#include "search/federation/ranked_hits.h"
#include "search/federation/request.h"

namespace gannet::search {

// Drops pins that are not in force, and pins of documents that an earlier query pins too. Pinned
// documents are removed from the ranking of every query on their index. Returns the remaining pins
// of all queries, by position.
// An error is stored as the status of its query.
// Lifetime: the result borrows the pins of the queries.
std::vector<RankedHit> SortPins(Federation& federation);

// The merged list, up to the end that is wanted.
struct MergedList {
  Merged<IndexHits> hits;          // the rest of the list; hits of the page point into it
  std::vector<RankedHit> page;     // hits of the window
  std::vector<RankedHit> further;  // other hits of which distinct values are sent
};

// Merges the lists, first within each index, where a document found twice counts once. Pins are put
// at their positions. Of documents that share a value of the distinct attribute of the federation,
// the first one stays; the others are added to the `rejected` set of their index.
// Lifetime: the result borrows the runs of the queries.
std::unique_ptr<MergedList> MergeLists(const FederatedRequest& request,
                                       const std::vector<RankedHit>& pins, Federation& federation);

}  // namespace gannet::search
