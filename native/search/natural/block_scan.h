// Finds the documents that can be among the best for a question: MAXSCORE (Turtle, Flood: Query
// Evaluation: Strategies and Optimizations, 1995) over blocks of docids.
//
// A list has the documents that contain a word, and an upper bound of what the word adds to any of
// them. Lists whose bounds together do not reach the minimum are not essential: a document that is
// in no other list is skipped. The remaining documents of a block are read in descending order of
// the sum of their bounds, as long as it reaches the minimum, which each of them may raise.
//
// Threads: one owner.
// Memory: 512 KiB, independent of the number of documents.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "bitmap/docset.h"

namespace gannet::search {

struct BoundedList {
  DocSet documents;
  double bound = 0;  // above 0
};

// Calls read(documents) with batches of documents of the lists, each ascending, until no other one
// can have `sum_min()`, which never falls. Each document is
// passed at most once; some of those passed have less.
// candidates    other documents are skipped
void ScanBlocks(std::span<const BoundedList> lists, const DocSet& candidates,
                const std::function<double()>& sum_min,
                const std::function<void(std::span<const DocId>)>& read);

}  // namespace gannet::search
