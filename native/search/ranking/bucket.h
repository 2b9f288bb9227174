// A bucket: documents that all rules so far rank the same.
//
// Threads: one owner. Lifetime: must be destroyed before the graph of its paths.
#pragma once

#include <vector>

#include "bitmap/docset.h"
#include "search/ranking/paths.h"

namespace gannet::search {

class TwoPhase;

struct Bucket {
  DocSet documents;
  std::vector<Path> paths;        // paths that the documents may take, in visiting order
  TwoPhase* two_phase = nullptr;  // verifies which documents belong here; null: all of them
};

// Documents of a bucket that match one path, or are ranked along it.
struct OnePath {
  DocSet documents;
  uint32_t number;  // number of the path among the paths of the bucket
  Path path;
  // The phrases that stand for words of the path and that every document contains. No document
  // contains any other such phrase.
  PathPhrases held;
};

}  // namespace gannet::search
