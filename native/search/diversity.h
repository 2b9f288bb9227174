// At most a number of hits with one value of an attribute on each page
// (docs/behaviour/results.md, diversity).
#pragma once

#include <cstdint>
#include <vector>

#include "index/snapshot.h"
#include "search/ranking/ranking_rule.h"
#include "search/request.h"

namespace gannet::search {

// The work of one search, in looks at a hit or one of its values. Hits after that are in ranked
// order, on whichever page.
inline constexpr uint64_t kDiversityLooks = 4'000'000;

struct DiverseHits {
  std::vector<Hit> hits;
  bool cut = false;  // hits depend on ranked hits that follow those given
};

// The hits of all pages up to a position, in the order in which pages show them, without pins.
// ranked  from the first one
// end     the position; REQUIRES: at most that of the last hit that can be reached
// whole   no hit follows the ranked ones
// REQUIRES: the request has `diversity`.
DiverseHits Diversify(const index::Snapshot& snapshot, const SearchRequest& request,
                      const std::vector<Hit>& ranked, uint64_t end, bool whole,
                      uint64_t looks = kDiversityLooks);

}  // namespace gannet::search
