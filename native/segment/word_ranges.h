// Words of one segment as ranges of ordinals.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace gannet::segment {

using WordRange = std::pair<Ordinal, Ordinal>;  // [begin, end)

// Number of words; words that are in two ranges count twice.
inline uint64_t CountWords(std::span<const WordRange> words) {
  uint64_t count = 0;
  for (const auto& [begin, end] : words) count += end - begin;
  return count;
}

// Joins ranges that touch or overlap, and sorts them. REQUIRES: none is empty.
inline void Unite(std::vector<WordRange>& words) {
  std::sort(words.begin(), words.end());
  size_t kept = 0;
  for (const WordRange& range : words) {
    if (kept > 0 && range.first <= words[kept - 1].second) {
      words[kept - 1].second = std::max(words[kept - 1].second, range.second);
    } else {
      words[kept++] = range;
    }
  }
  words.resize(kept);
}

}  // namespace gannet::segment
