// A rule that gives each document a score of its own, which is then the score of the hit: the best
// ones first, one bucket for each score; those without one last.
#pragma once

#include <cstddef>
#include <vector>

#include "bitmap/docset.h"
#include "search/ranking/ranking_rule.h"
#include "search/vectors/vector_scan.h"

namespace gannet::search {

class ByScore : public RankingRule {
 public:
  using RankingRule::RankingRule;

  void Split(Bucket bucket, BucketSplit& out) override;
  bool scores() const override { return true; }

 private:
  // Those of `documents` that have a score.
  virtual DocSet Scored(const DocSet& documents) const = 0;
  // The `count` best documents of `candidates`, which have scores, best first, then by docid; and
  // all others that are as good as the last of them. Empty: damaged, or nobody waits.
  // REQUIRES: count > 0
  virtual std::vector<NearDocument> Best(const DocSet& candidates, size_t count) const = 0;
  // Those of `candidates`, which have scores, that have at least this one.
  virtual DocSet AtLeast(const DocSet& candidates, double score) const = 0;
  // What NearDocument::similarity counts as. Never decreases.
  virtual float Score(float similarity) const { return similarity; }
};

}  // namespace gannet::search
