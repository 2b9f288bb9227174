// What the rules said of a hit, as a score and as the object `_rankingScoreDetails` (search.md 3).
//
// Threads: pure functions.
#pragma once

#include <string>
#include <vector>

#include "search/rank.h"

namespace gannet::search {

// R/M of search.md 3.1.
double ScoreOf(const Detail* detail);
// Chain as a list, first rule first.
std::vector<const Detail*> ChainOf(const Detail* detail);
// Appends the object `_rankingScoreDetails`.
void AppendScoreDetails(const Detail* detail, const index::Snapshot& snapshot, std::string& out);

}  // namespace gannet::search
