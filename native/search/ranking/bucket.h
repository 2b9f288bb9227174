// Documents that all rules so far rank the same.
//
// Threads: one owner. Lifetime: dies before the graph of its paths.
#pragma once

#include <vector>

#include "bitmap/docset.h"
#include "search/ranking/paths.h"

namespace gannet::search {

class TwoPhase;

struct Bucket {
  DocSet documents;
  std::vector<Path> paths;        // that the documents may take, in visiting order
  TwoPhase* two_phase = nullptr;  // tells which documents are here by right; null: all are
};

// Documents of a bucket that match one path, or are ranked along it.
struct OnePath {
  DocSet documents;
  uint32_t number;  // of the path among the paths of the bucket
  Path path;
  PathPhrases held;  // of the phrases that stand for words of the path: those that every document
                     // holds; no document holds any other
};

}  // namespace gannet::search
