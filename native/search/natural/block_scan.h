// Finds the documents that can be among the best for a question: MAXSCORE (Turtle, Flood: Query
// Evaluation: Strategies and Optimizations, 1995) over blocks of docids of one segment.
//
// A list has documents that contain a word, and bounds what it adds to each of them: by the length
// of the field and the number of occurrences. Lists that together cannot add up to the minimum are
// not essential: a document that is in no other list is skipped. The bounds of the remaining
// documents of a block are added up, and these are read in descending order of the sums, as long as
// they reach the minimum, which each of them may raise.
//
// Threads: one owner.
// Memory: 256 KiB, and 8 KiB per 65,536 docids for few candidates.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/ids.h"
#include "bitmap/docset.h"
#include "search/natural/score_bound.h"

namespace gannet::search {

// Documents that contain a word of a question, and what it adds to each. The rest is borrowed.
struct ScanList {
  uint32_t word = 0;  // index in Question::words
  float max = 0;      // the most that it adds to a document; above 0
  const DocSet* documents = nullptr;
  std::span<const DocId> docids;  // instead, if `documents` is null; ascending
  // By code of the length of `field` (segment/occurrences.h); null: each document gets `max`.
  FieldId field = 0;
  const float* by_length = nullptr;
  // By document in `docids`: how often it has the word. Then by_length is what one occurrence
  // counts, and the list adds what the others add to its part of the worth.
  std::span<const uint8_t> counts;
  float worth = 0;
};

struct Scan {
  std::span<const ScanList> lists;
  std::span<const float> word_max;  // by word: the most that its lists together add to a document
  const ScoreBound& bound;
  // Codes of the lengths of a field in the docids from key * 65,536 on; null: not known.
  std::function<const uint8_t*(FieldId field, uint32_t key)> length_codes;
  const DocSet& candidates;  // others are skipped
  // What a document has to get; never falls.
  std::function<double()> got_min;
};

// Calls read(documents) with batches of documents of the lists, each ascending, until no other one
// can get the minimum. Each document is passed at most once; some of those passed get less.
void ScanBlocks(const Scan& scan, const std::function<void(std::span<const DocId>)>& read);

}  // namespace gannet::search
