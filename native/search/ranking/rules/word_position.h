// The cost of a word's position (docs/behaviour/ranking.md, wordPosition).
#pragma once

#include <cstdint>

namespace gannet::search {

// position          position of the word in a field
// query_position    position of the term in the query
// slots             number of words of the term: 1, or more if concatenated
uint32_t PositionCostOf(uint32_t position, uint32_t query_position, uint32_t slots);

}  // namespace gannet::search
