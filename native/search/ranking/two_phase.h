// Two-phase ranking: documents are ranked by what posting lists tell of them, and verified by
// reading their forward records only when they are about to be returned.
//
// Posting lists give a lower bound of a cost, or the documents that may match a phrase. Approximate
// documents take part in the rules that follow as if the bound were the cost. Most of them never
// reach the page, so most records are never read. The order stays exact because the ranker uses two
// phases only where the rules that follow say of a document what does not depend on the other
// documents of the bucket (Ranker::RanksOneByOne).
//
// Invariant: `verified` and `approximate` share no document. Verifying a document removes it from
// `approximate`; it enters `verified` or is dropped.
//
// Threads: one owner. Lifetime: an object dies before the cost sources and the phrases that it
// reads. Cost: verifying reads one forward record per document, 40 to 60 ns each.
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

  // The documents of `documents` that are what the ranker takes them for. Reads the approximate
  // ones; reads all approximate documents, also beyond `documents`, once in_vain().
  // documents    a subset of verified() and approximate()
  DocSet Verify(const DocSet& documents);
  // Removes from `documents` those that turn out to be something else, until one document of it is
  // verified or none is left.
  // documents    a subset of verified() and approximate()
  void DropUnverified(DocSet& documents);
  void VerifyAll() { Verify(DocSet(approximate_)); }
  // Verifies all documents if a sample says that few of them will stay: to find `wanted` documents,
  // most would be read anyway, after the following rules had asked posting lists in vain.
  // wanted    documents that the page still needs
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
  // sources    each was asked for `cost` last
  // cost       the cost at which the documents are ranked
  TwoPhaseCosts(std::span<const std::unique_ptr<CostSource>> sources, uint32_t cost,
                DocSet verified, DocSet approximate)
      : TwoPhase(std::move(verified), std::move(approximate)), sources_(sources), cost_(cost) {}

 private:
  DocSet Read(const DocSet& documents) override;

  std::span<const std::unique_ptr<CostSource>> sources_;
  uint32_t cost_;
};

// Documents that hold all words of a phrase. Whether the words stand side by side is verified.
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
