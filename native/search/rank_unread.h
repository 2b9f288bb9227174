// Documents that are ranked by what lists tell of them, as if they were what only reading can tell, until they are read.
//
// Threads: one owner. Lifetime: dies before the sources and the graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "bitmap/docset.h"
#include "search/cost_parts.h"
#include "search/graph.h"
#include "search/large_bucket.h"

namespace gannet::search {

class Unread {
 public:
  Unread(DocSet sure, DocSet unread) : sure_(std::move(sure)), unread_(std::move(unread)) {}
  virtual ~Unread() = default;

  // Those of `documents`, among `sure` and `unread`, that are what they are ranked as. Reads them; all of them when many were
  // read in vain.
  DocSet Confirm(const DocSet& documents);
  // Leaves out of `documents`, among the same, what is read in vain until one is known to be what it is ranked as, or none is
  // left.
  void FindSome(DocSet& documents);
  void ReadAll() { Confirm(DocSet(unread_)); }
  // Reads all where few seem to be what they are ranked as. To find `wanted` of these, most would be read, and lists be asked
  // before, mostly in vain.
  void ReadIfScarce(uint64_t wanted);
  // The number of those that are, but no more than so many, or a few, are looked for.
  uint64_t Count(uint64_t enough);
  const DocSet& sure() const { return sure_; }
  const DocSet& unread() const { return unread_; }
  // Whether many were read since the last that was.
  bool in_vain() const { return in_vain_ >= LargeBucketMin() * 4; }

 private:
  // Those of `documents` that are.
  virtual DocSet Read(const DocSet& documents) = 0;

  DocSet sure_, unread_;
  uint64_t in_vain_ = 0;  // documents read since one was
};

// What documents of several sources cost: of `unread`, `cost` or more.
class UnreadCosts : public Unread {
 public:
  // sources: that of `cost` is the last part that they gave.
  UnreadCosts(std::span<const std::unique_ptr<CostParts>> sources, uint32_t cost, DocSet sure, DocSet unread)
      : Unread(std::move(sure), std::move(unread)), sources_(sources), cost_(cost) {}

 private:
  DocSet Read(const DocSet& documents) override;

  std::span<const std::unique_ptr<CostParts>> sources_;
  uint32_t cost_;
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
