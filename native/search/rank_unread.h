// Documents that are ranked by what lists tell of them, as if they were what only reading can tell, until they are read.
//
// Threads: one owner. Lifetime: dies before the sweep, the graph, and what waits.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "bitmap/docset.h"
#include "search/graph.h"
#include "search/large_bucket.h"
#include "search/sweep.h"

namespace gannet::search {

class Unread {
 public:
  Unread(DocSet sure, DocSet unread) : sure_(std::move(sure)), unread_(std::move(unread)) {}
  virtual ~Unread() = default;

  // Those of `documents`, among `sure` and `unread`, that are what they are ranked as. Reads them; all of them when many were
  // read in vain.
  DocSet Confirm(const DocSet& documents);
  // The number of those that are, but no more than so many, or a few, are looked for.
  uint64_t Count(uint64_t enough);
  // Whether many were read since the last that was.
  bool in_vain() const { return in_vain_ >= LargeBucketMin() * 4; }

 private:
  // Those of `documents` that are.
  virtual DocSet Read(const DocSet& documents) = 0;

  DocSet sure_, unread_;
  uint64_t in_vain_ = 0;  // documents read since one was
};

// What proximity costs: of `unread`, `cost` or more.
class UnreadNearness : public Unread {
 public:
  // waiting: by cost; takes those that cost more.
  UnreadNearness(PathSweep& sweep, uint32_t cost, DocSet sure, DocSet unread, std::vector<DocSet>& waiting)
      : Unread(std::move(sure), std::move(unread)), sweep_(sweep), cost_(cost), waiting_(waiting) {}

 private:
  DocSet Read(const DocSet& documents) override;

  PathSweep& sweep_;
  uint32_t cost_;
  std::vector<DocSet>& waiting_;
};

// Whether they match a phrase.
class UnreadPhrase : public Unread {
 public:
  UnreadPhrase(const Graph& graph, const Phrase& phrase, PhraseParts parts)
      : Unread(std::move(parts.sure), std::move(parts.unsure)), graph_(graph), phrase_(phrase) {}

 private:
  DocSet Read(const DocSet& documents) override { return graph_.ReadPhrase(phrase_, documents); }

  const Graph& graph_;
  const Phrase& phrase_;
};

}  // namespace gannet::search
