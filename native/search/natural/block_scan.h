// Which documents can be among the best for a question: MAXSCORE (Turtle, Flood: Query Evaluation:
// Strategies and Optimizations, 1995) over blocks of docids.
//
// A list names the documents that have a word, and bounds what the word adds to any of them. In
// each block the lists that together cannot lift a document to the least that is wanted are not
// essential: a document that is in none of the others is not looked at. Of the remaining ones the
// sum of the bounds decides which are read, best first; each that was read may raise the least.
//
// Threads: one owner.
// Memory: 512 KiB, whatever the number of documents.
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

// Calls read(documents) with documents of the lists, ascending, a batch at a time, until no other
// can have `least()`, which never falls. A document is given once; some that are given have less.
// candidates    others are left out
void ScanBlocks(std::span<const BoundedList> lists, const DocSet& candidates,
                const std::function<double()>& least,
                const std::function<void(std::span<const DocId>)>& read);

}  // namespace gannet::search
