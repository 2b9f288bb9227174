// Documents that are ranked by what lists tell of them, as if they were what only reading can tell, until they are read.
//
// Threads: one owner. Lifetime: dies before the sources and the graph.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "bitmap/docset.h"
#include "search/cost_source.h"
#include "search/graph.h"
#include "search/large_bucket.h"

namespace gannet::search {

class TwoPhase {
 public:
  TwoPhase(DocSet verified, DocSet approximate) : verified_(std::move(verified)), approximate_(std::move(approximate)) {}
  virtual ~TwoPhase() = default;

  // Those of `documents`, among `verified` and `approximate`, that are what they are ranked as. Reads them; all of them when many were
  // read in vain.
  DocSet Verify(const DocSet& documents);
  // Leaves out of `documents`, among the same, what is read in vain until one is known to be what it is ranked as, or none is
  // left.
  void DropUnverified(DocSet& documents);
  void VerifyAll() { Verify(DocSet(approximate_)); }
  // Reads all where few seem to be what they are ranked as. To find `wanted` of these, most would be read, and lists be asked
  // before, mostly in vain.
  void VerifyIfScarce(uint64_t wanted);
  // The number of those that are, but no more than so many, or a few, are looked for.
  uint64_t Count(uint64_t enough);
  const DocSet& verified() const { return verified_; }
  const DocSet& approximate() const { return approximate_; }
  // Whether many were read since the last that was.
  bool in_vain() const { return in_vain_ >= LargeBucketMin() * 4; }

 private:
  // Those of `documents` that are.
  virtual DocSet Read(const DocSet& documents) = 0;

  DocSet verified_, approximate_;
  uint64_t in_vain_ = 0;  // documents read since one was
};

// What documents of several sources cost: of `approximate`, `cost` or more.
class TwoPhaseCosts : public TwoPhase {
 public:
  // sources: that of `cost` is the last part that they gave.
  TwoPhaseCosts(std::span<const std::unique_ptr<CostSource>> sources, uint32_t cost, DocSet verified, DocSet approximate)
      : TwoPhase(std::move(verified), std::move(approximate)), sources_(sources), cost_(cost) {}

 private:
  DocSet Read(const DocSet& documents) override;

  std::span<const std::unique_ptr<CostSource>> sources_;
  uint32_t cost_;
};

// Whether they match a phrase.
class TwoPhasePhrase : public TwoPhase {
 public:
  TwoPhasePhrase(const Graph& graph, const Phrase& phrase, PhraseMatches matches)
      : TwoPhase(std::move(matches.verified), std::move(matches.approximate)), graph_(graph), phrase_(phrase) {}

 private:
  DocSet Read(const DocSet& documents) override { return graph_.ReadPhrase(phrase_, documents); }

  const Graph& graph_;
  const Phrase& phrase_;
};

}  // namespace gannet::search
