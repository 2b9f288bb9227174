// The beginning of a ranked list, as a search of that depth finds it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/ranking/rules.h"

namespace gannet::search {

inline std::vector<Hit> FirstOf(const std::vector<Hit>& hits, uint64_t count) {
  const uint64_t end = std::min<uint64_t>(count, hits.size());
  return {hits.begin(), hits.begin() + static_cast<ptrdiff_t>(end)};
}

}  // namespace gannet::search
