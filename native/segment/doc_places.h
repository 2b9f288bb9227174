// From docids to places: where the documents of a segment stand in its arrays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bitmap/docset.h"

namespace gannet::segment {

// The docids of a segment, and how to get from one to its place.
//
// Where few docids of the range are missing, these are listed: a docid then stands as far behind the first as it is
// greater, less the missing ones before it.
//
// Lifetime: borrows the docids.
class DocPlaces {
 public:
  DocPlaces() = default;
  // docids: ascending and distinct.
  // cost  one pass over them where some are missing
  explicit DocPlaces(std::span<const uint32_t> docids);

  std::span<const uint32_t> docids() const { return docids_; }
  // The same as a set.
  // cost  linear in the missing docids where they are listed, else in all
  DocSet Documents() const;
  // The place of a docid, -1 when the segment does not have it.
  int64_t Find(uint32_t docid) const;

 private:
  friend class DocPlaceCursor;

  std::span<const uint32_t> docids_;
  std::vector<uint32_t> missing_;  // docids between the first and the last; empty too when there are many
  bool listed_ = true;             // missing_ has all of them
};

// Finds the places of ascending docids.
class DocPlaceCursor {
 public:
  explicit DocPlaceCursor(const DocPlaces& places) : places_(places), base_(places.docids_.empty() ? 0 : places.docids_[0]) {
    if (!places.missing_.empty()) next_missing_ = places.missing_[0];
    if (!places.listed_) next_missing_ = 0;
  }

  // REQUIRES: docid is one of the segment, and above that of the last call
  // cost  about 1 ns where few are missing, else a search as long as the gap
  uint32_t PlaceOf(uint32_t docid) {
    if (docid >= next_missing_) Advance(docid);
    return docid - base_;
  }

 private:
  void Advance(uint32_t docid);

  const DocPlaces& places_;
  uint32_t base_;                      // docid less place, up to next_missing_
  uint32_t next_missing_ = UINT32_MAX;
  uint32_t at_ = 0;                    // of next_missing_ in missing_; where they are not listed: the last place
};

// Calls sink(uint32_t place, uint32_t docid) for each of `documents`, ascending.
// REQUIRES: documents is a subset of the segment's.
template <typename Sink>
void ForEachPlace(const DocPlaces& places, const DocSet& documents, Sink&& sink) {
  DocPlaceCursor cursor(places);
  documents.ForEach([&](uint32_t docid) { sink(cursor.PlaceOf(docid), docid); });
}

// The set of these docids, which need not be sorted but are distinct. They are left in no order.
// cost  linear where they are dense.
DocSet DocSetOf(std::vector<uint32_t>& docids);

}  // namespace gannet::segment
