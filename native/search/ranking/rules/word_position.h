// The cost of a word's place (docs/behaviour/ranking.md, wordPosition).
#pragma once

#include <cstdint>

namespace gannet::search {

// position          where the word stands in a field
// query_position    where the query has the term
// slots             words of the term: 1, or more for a glued one
uint32_t PositionCostOf(uint32_t position, uint32_t query_position, uint32_t slots);

}  // namespace gannet::search
