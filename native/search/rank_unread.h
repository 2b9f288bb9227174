// Documents that are ranked as if proximity cost them what it may cost them at least, until they are read.
//
// Threads: one owner. Lifetime: dies before the sweep and what waits.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "bitmap/docset.h"
#include "search/large_bucket.h"
#include "search/sweep.h"

namespace gannet::search {

class Unread {
 public:
  // All of `sure` cost `cost`, those of `unread` that or more. waiting: by cost; takes those that cost more.
  Unread(PathSweep& sweep, uint32_t cost, DocSet sure, DocSet unread, std::vector<DocSet>& waiting)
      : sweep_(sweep), cost_(cost), sure_(std::move(sure)), unread_(std::move(unread)), waiting_(waiting) {}

  // Those of `documents`, among `sure` and `unread`, that cost `cost`. Reads them; all of them when many were read in vain.
  DocSet Confirm(const DocSet& documents);
  // Whether many were read since the last that costs that.
  bool in_vain() const { return in_vain_ >= LargeBucketMin() * 4; }

 private:
  PathSweep& sweep_;
  uint32_t cost_;
  DocSet sure_, unread_;
  std::vector<DocSet>& waiting_;
  uint64_t in_vain_ = 0;  // documents read since one cost that
};

}  // namespace gannet::search
