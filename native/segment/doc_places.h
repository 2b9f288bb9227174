// From docids to places: where the documents of a segment stand in its arrays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bitmap/docset.h"

namespace gannet::segment {

// Calls sink(uint32_t place, uint32_t docid) for each of `documents`, ascending.
// docids: of the segment, ascending. REQUIRES: documents is a subset of them.
// cost  about 1 ns per document where docids have no gaps, else a search as long as the gaps.
template <typename Sink>
void ForEachPlace(std::span<const uint32_t> docids, const DocSet& documents, Sink&& sink) {
  if (docids.empty()) return;
  if (docids.back() - docids.front() == docids.size() - 1) {
    const uint32_t first = docids.front();
    documents.ForEach([&](uint32_t docid) { sink(docid - first, docid); });
    return;
  }
  uint32_t place = 0;
  const auto last = static_cast<uint32_t>(docids.size() - 1);
  documents.ForEach([&](uint32_t docid) {
    // docids are distinct, so the place is at most as far ahead as the docid; gaps put it before that.
    uint32_t high = place + (docid - docids[place]);
    if (high > last) high = last;
    uint32_t step = 1, low = high;
    while (docids[low] > docid) {
      high = low - 1;
      low = low - place > step ? low - step : place;
      step *= 2;
    }
    while (low < high) {
      const uint32_t middle = low + (high - low + 1) / 2;
      if (docids[middle] <= docid) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    place = low;
    sink(place, docid);
  });
}

// The set of these docids, which need not be sorted but are distinct. They are left in no order.
// cost  linear where they are dense.
DocSet DocSetOf(std::vector<uint32_t>& docids);

}  // namespace gannet::segment
