// Random docid lists that reach every kind of roaring container: sparse, dense, runs, several
// blocks.
#pragma once

#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include "base/ids.h"
#include "test_seed.h"

namespace gannet {

// Ascending and distinct.
inline std::vector<uint32_t> RandomDocids(std::mt19937_64& random) {
  std::set<DocId> docids;
  const uint32_t shape = random() % 6;
  const uint32_t limits[] = {10, 100, 70'000, 200'000, 5'000'000, UINT32_MAX};
  const uint32_t limit = limits[random() % 6];
  const size_t counts[] = {0, 1, 3, 31, 32, 33, 200, 3000};
  const size_t count = counts[random() % 8];
  for (size_t i = 0; i < count; ++i) docids.insert(static_cast<uint32_t>(random() % limit));
  if (shape == 0) {  // runs
    for (int i = 0; i < 5; ++i) {
      const uint32_t begin = random() % 300'000;
      const uint32_t length = random() % 5'000;
      for (DocId docid = begin; docid < begin + length; ++docid) docids.insert(docid);
    }
  } else if (shape == 1) {  // one dense block
    for (DocId docid = 65'536; docid < 131'072; docid += 1 + random() % 4) docids.insert(docid);
  }
  return {docids.begin(), docids.end()};
}

}  // namespace gannet
