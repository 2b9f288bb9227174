// Merging the lists of the queries into one.
#pragma once

#include <memory>
#include <vector>

#include "search/federation/federation.h"
#include "search/federation/ranked_hits.h"
#include "search/federation/request.h"

namespace gannet::search {

// Drops pins that are not in force, and those of documents that an earlier query pins too; the
// others leave the ranking of every query on their index. The result is what is left of all
// queries, by position.
// An error is kept as the status of its query.
// Lifetime: the result borrows the pins of the queries.
std::vector<RankedHit> PlacePins(Federation& federation);

// The merged list, as far as it is wanted.
struct MergedList {
  Merged<IndexHits> hits;          // what is left; hits of the page point into it
  std::vector<RankedHit> page;     // those of the window
  std::vector<RankedHit> further;  // others, as far as their distinct values are told
};

// Merges the lists, within an index first, where a document found twice counts once. Pins come at
// their positions. Of documents that share a value of the distinct of the federation the first one
// stays; the others are noted as rejected by their index.
// Lifetime: the result borrows the runs of the queries.
std::unique_ptr<MergedList> MergeLists(const FederatedRequest& request,
                                       const std::vector<RankedHit>& pins, Federation& federation);

}  // namespace gannet::search
