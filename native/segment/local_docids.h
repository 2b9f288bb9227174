// Maps docids to local docids: the indexes of a segment's documents in its arrays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/stop_point.h"
#include "bitmap/docset.h"

namespace gannet::segment {

// The docids of a segment, and the local docid of each.
//
// The docids of most segments form a few hundred runs of consecutive numbers. Within a run, the
// local docid grows with the docid, so a lookup is a search among the runs and a subtraction.
//
// Threads: immutable. Lifetime: borrows the docids.
class LocalDocIds {
 public:
  LocalDocIds() = default;
  // docids    ascending and distinct
  // cost  one pass over them if some are missing
  explicit LocalDocIds(std::span<const uint32_t> docids);

  std::span<const uint32_t> docids() const { return docids_; }
  // The docids as a docset.
  // cost  linear in the runs where they are long, else in the docids
  DocSet Documents() const;
  // The local docid of `docid`; -1 if the segment does not have the document.
  int64_t Find(DocId docid) const;

 private:
  friend class LocalDocIdCursor;

  struct Run {
    DocId docid;     // of the first document of the run
    uint32_t local;  // the same
  };
  std::span<const uint32_t> docids_;
  std::vector<Run> runs_;  // ascending; empty where runs are short
};

// Finds the local docids of ascending docids.
class LocalDocIdCursor {
 public:
  explicit LocalDocIdCursor(const LocalDocIds& local_docids) : local_docids_(local_docids) {}

  // REQUIRES: the segment has `docid`, which is above the docid of the last call
  // cost  about 1 ns within a run, else a search as long as the gap
  uint32_t LocalOf(DocId docid) {
    if (docid >= end_) Advance(docid);
    return docid - base_;
  }

 private:
  void Advance(DocId docid);

  const LocalDocIds& local_docids_;
  uint32_t base_ = 0;  // docid minus local docid, for docids below end_
  uint32_t end_ = 0;   // the first docid for which base_ does not hold
  uint32_t at_ = 0;    // index of the run, or the last local docid
};

// Calls sink(uint32_t local, DocId docid) for each of `documents`, ascending.
// REQUIRES: documents is a subset of the segment's.
template <typename Sink>
void ForEachLocal(const LocalDocIds& local_docids, const DocSet& documents, Sink&& sink) {
  LocalDocIdCursor cursor(local_docids);
  StopCounter counter;
  documents.ForEach([&](DocId docid) {
    counter.Step();
    sink(cursor.LocalOf(docid), docid);
  });
}

// The docset of `docids`.
// docids    distinct, in any order; reordered by the call
// cost  linear where they are dense
DocSet DocSetOf(std::vector<uint32_t>& docids);

}  // namespace gannet::segment
