// The planner of cost rules: what tells the costs of the documents of a bucket.
//
// Posting lists, where many documents match one path and hold the same of the phrases that stand
// for its words: such groups are asked for in lists. Their forward records otherwise, which are
// read once for all rules. Both give the same costs, so what a rule says does not depend on the
// plan. A document of several paths costs the least of what these give.
//
// Threads: one owner. Lifetime: dies before the query and the rules.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bitmap/docset.h"
#include "search/ranking/cost_rule.h"
#include "search/ranking/cost_source.h"
#include "search/ranking/forward_scan.h"

namespace gannet::search {

class CostPlan {
 public:
  CostPlan(const RankContext& context, const Rules& rules) : context_(context), rules_(rules) {}

  const RankContext& context() const { return context_; }
  // Sources for all documents of a bucket, each of the quickest kind for its documents.
  // rule   number of a cost rule
  // max    the greatest cost of the rule
  Sources SourcesOf(Bucket bucket, size_t rule, uint32_t max);
  // Forgets which documents were read.
  void Forget() { scan_.reset(); }

 private:
  // Adds sources for documents that match one path and hold the same phrases, from posting lists.
  void AddSources(OnePath group, const CostRule& rule, uint32_t max, TwoPhase* two_phase,
                  Sources& sources);
  // Adds sources for any documents, which are read.
  void AddScan(const Bucket& bucket, size_t rule, uint32_t max, Sources& sources);
  // A cost source for documents that match several paths; null where reading them is quicker.
  // shared       of each path: the documents that match it
  // any          documents of all paths
  // documents    the documents of several paths; those without a source are removed
  std::unique_ptr<CostSource> CheapestOf(std::vector<OnePath> shared, const DocSet& any,
                                         DocSet& documents, const CostRule& rule, uint32_t max,
                                         TwoPhase* two_phase);
  // Groups documents of one path by the phrases that they hold, so that posting lists may be asked.
  // Documents that must be read stay in `one`.
  // among    documents among which the phrases are looked up; empty: those of `one`
  std::vector<OnePath> GroupByPhrases(OnePath& one, const CostRule& rule, const DocSet& among);

  const RankContext context_;
  const Rules& rules_;
  std::optional<ForwardScan> scan_;  // the last one; of use to the rules behind
};

}  // namespace gannet::search
