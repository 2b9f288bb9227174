// Ranked lists: their beginnings, as searches of that depth find them, and their documents.
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

using Docids = std::vector<DocId>;

inline Docids DocidsOf(const std::vector<Hit>& hits) {
  Docids docids;
  for (const Hit& hit : hits) docids.push_back(hit.docid);
  return docids;
}

}  // namespace gannet::search
