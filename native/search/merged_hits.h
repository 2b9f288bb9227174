// The list that the two halves of a hybrid search are merged into.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bitmap/docset.h"
#include "search/ranking/ranking_rule.h"
#include "search/results/distinct.h"

namespace gannet::search {

// How far two lists are merged.
struct MergeEnd {
  // wanted   maximum number of hits
  // counted  after these, documents are kept without their hits, up to this number
  // depth    a list of this many hits may go on
  MergeEnd(uint64_t wanted, uint64_t counted = 0, uint64_t depth = UINT64_MAX)
      : wanted(wanted), counted(std::max(wanted, counted)), depth(depth) {}

  // Whether a list is known only up to this position.
  bool Cuts(const std::vector<Hit>& list, uint64_t position) const {
    return list.size() >= depth && position >= list.size();
  }

  uint64_t wanted, counted, depth;
};

// The first hits of two lists merged into one, each document once.
struct MergedHits {
  // Takes the next document of the list, if distinct does not drop it. Returns whether it has a
  // place among the hits.
  // distinct  null: none
  bool Keep(DocId docid, const MergeEnd& end, const Distinct* distinct) {
    if (distinct != nullptr) {
      if (excluded.Contains(docid)) return false;
      distinct->ValuesOfInto(docid, excluded);
    }
    kept.push_back(docid);
    return kept.size() <= end.wanted;
  }

  std::vector<Hit> hits;
  std::vector<bool> by_vector;  // for each hit: whether it comes from the list by vectors
  std::vector<DocId> kept;      // the documents of the hits, then those that are only counted
  DocSet excluded;              // by distinct
  bool cut = false;             // what follows depends on hits after the depth of a list
};

}  // namespace gannet::search
