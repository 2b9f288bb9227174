// From docids to local docids: where the documents of a segment stand in its arrays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bitmap/docset.h"

namespace gannet::segment {

// The docids of a segment, and how to get from one to its local docid.
//
// Mostly they are runs of docids that follow each other, some long: a docid then stands as far behind the first one of its run as
// it is greater. Segments that were written side by side have a few hundred runs each.
//
// Lifetime: borrows the docids.
class LocalDocIds {
 public:
  LocalDocIds() = default;
  // docids: ascending and distinct.
  // cost  one pass over them where some are missing
  explicit LocalDocIds(std::span<const uint32_t> docids);

  std::span<const uint32_t> docids() const { return docids_; }
  // The same as a set.
  // cost  linear in the runs where they are long, else in the docids
  DocSet Documents() const;
  // The local docid of a docid, -1 when the segment does not have it.
  int64_t Find(uint32_t docid) const;

 private:
  friend class LocalDocIdCursor;

  struct Run {
    uint32_t docid, local;  // of its first one
  };
  std::span<const uint32_t> docids_;
  std::vector<Run> runs_;  // ascending; none where they are short
};

// Finds the local docids of ascending docids.
class LocalDocIdCursor {
 public:
  explicit LocalDocIdCursor(const LocalDocIds& local_docids) : local_docids_(local_docids) {}

  // REQUIRES: docid is one of the segment, and above that of the last call
  // cost  about 1 ns within a run, else a search as long as the gap
  uint32_t LocalOf(uint32_t docid) {
    if (docid >= end_) Advance(docid);
    return docid - base_;
  }

 private:
  void Advance(uint32_t docid);

  const LocalDocIds& local_docids_;
  uint32_t base_ = 0;  // docid less local docid, below end_
  uint32_t end_ = 0;   // the next docid of which that is not known
  uint32_t at_ = 0;    // number of the run, or the last local docid
};

// Calls sink(uint32_t local, uint32_t docid) for each of `documents`, ascending.
// REQUIRES: documents is a subset of the segment's.
template <typename Sink>
void ForEachLocal(const LocalDocIds& local_docids, const DocSet& documents, Sink&& sink) {
  LocalDocIdCursor cursor(local_docids);
  documents.ForEach([&](uint32_t docid) { sink(cursor.LocalOf(docid), docid); });
}

// The set of these docids, which need not be sorted but are distinct. They are left in no order.
// cost  linear where they are dense.
DocSet DocSetOf(std::vector<uint32_t>& docids);

}  // namespace gannet::segment
