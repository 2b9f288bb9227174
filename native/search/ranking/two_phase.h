// Two-phase ranking: documents are ranked with posting lists, and verified by reading their forward
// records only when they are about to be returned.
//
// Posting lists give a lower bound for a cost, or the documents that may match a phrase. Later
// rules treat an approximate document as if the bound were its cost. Most of these documents never
// reach the page, so most records are never read. The order is exact because the ranker uses two
// phases only if what the later rules say of a document does not depend on the other documents of
// the bucket (Ranker::RanksOneByOne).
//
// Invariant: `verified` and `approximate` share no document. Verifying a document removes it from
// `approximate`; it enters `verified` or is dropped.
//
// Threads: one owner. Lifetime: must be destroyed before the cost sources and the phrases that it
// reads.
// Cost: verifying reads one forward record per document, 40 to 60 ns each.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "bitmap/docset.h"
#include "search/matching/large_bucket.h"
#include "search/matching/phrase_matcher.h"
#include "search/ranking/cost_source.h"

namespace gannet::search {

class TwoPhase {
 public:
  TwoPhase(DocSet verified, DocSet approximate)
      : verified_(std::move(verified)), approximate_(std::move(approximate)) {}
  virtual ~TwoPhase() = default;

  // The documents of `documents` that are ranked correctly. Reads the approximate ones; once
  // in_vain(), reads all approximate documents, also those outside `documents`.
  // documents    a subset of verified() and approximate()
  DocSet Verify(const DocSet& documents);
  // Removes from `documents` those that verification refuses, until one document is verified or
  // none is left.
  // documents    a subset of verified() and approximate()
  void DropUnverified(DocSet& documents);
  void VerifyAll() { Verify(DocSet(approximate_)); }
  // Verifies all documents if a sample shows that few of them will stay: to find `wanted` documents
  // most would be read anyway, after later rules had evaluated posting lists in vain.
  // wanted    number of documents that the page still needs
  void VerifyIfScarce(uint64_t wanted);
  // The number of documents that stay. Stops counting shortly after `enough`.
  uint64_t Count(uint64_t enough);
  const DocSet& verified() const { return verified_; }
  const DocSet& approximate() const { return approximate_; }
  // Whether many documents were read since the last one that stayed.
  bool in_vain() const { return in_vain_ >= LargeBucketMin() * 4; }

 private:
  // The documents of `documents` that stay.
  virtual DocSet Read(const DocSet& documents) = 0;

  DocSet verified_, approximate_;
  uint64_t in_vain_ = 0;  // documents read since the last one that stayed
};

// Documents of several cost sources, ranked at `cost`. Approximate ones cost `cost` or more.
class TwoPhaseCosts : public TwoPhase {
 public:
  // sources    At(cost) was the last call of each
  // cost       the cost at which the documents are ranked
  TwoPhaseCosts(std::span<const std::unique_ptr<CostSource>> sources, uint32_t cost,
                DocSet verified, DocSet approximate)
      : TwoPhase(std::move(verified), std::move(approximate)), sources_(sources), cost_(cost) {}

 private:
  DocSet Read(const DocSet& documents) override;

  std::span<const std::unique_ptr<CostSource>> sources_;
  uint32_t cost_;
};

// Documents that contain all words of a phrase. Whether the words are adjacent is verified.
class TwoPhasePhrase : public TwoPhase {
 public:
  TwoPhasePhrase(const PhraseMatcher& phrases, const Phrase& phrase, PhraseMatches matches)
      : TwoPhase(std::move(matches.verified), std::move(matches.approximate)),
        phrases_(phrases),
        phrase_(phrase) {}

 private:
  DocSet Read(const DocSet& documents) override { return phrases_.Read(phrase_, documents); }

  const PhraseMatcher& phrases_;
  const Phrase& phrase_;
};

}  // namespace gannet::search
