// The planner of cost rules: decides how the costs of the documents of a bucket are computed.
//
// If many documents match one path and contain the same phrases that stand for its words, posting
// lists compute their costs. The forward records of the other documents are read, once for all
// rules. Both give the same costs, so the result of a rule does not depend on the plan. A document
// with several paths has the lowest of their costs.
//
// Threads: one owner. Lifetime: must be destroyed before the query and the rules.
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
  // Sources for all documents of a bucket, the fastest kind for each document.
  // rule   number of a cost rule
  // max    highest cost of the rule
  Sources SourcesOf(Bucket bucket, size_t rule, uint32_t max);
  // Discards the documents read so far.
  void Forget() { scan_.reset(); }

 private:
  // Adds sources that use posting lists, for documents that match one path and contain the same
  // phrases.
  void AddSources(OnePath group, const CostRule& rule, uint32_t max, TwoPhase* two_phase,
                  Sources& sources);
  // Adds sources that read the documents.
  void AddScan(const Bucket& bucket, size_t rule, uint32_t max, Sources& sources);
  // A cost source for documents that match several paths; null if reading them is faster.
  // shared       for each path: the documents that match it
  // any          the documents of all paths
  // documents    the documents with several paths; those without a source are removed
  std::unique_ptr<CostSource> CheapestOf(std::vector<OnePath> shared, const DocSet& any,
                                         DocSet& documents, const CostRule& rule, uint32_t max,
                                         TwoPhase* two_phase);
  // Groups documents of one path by the phrases that they contain, so that posting lists can be
  // used. Documents that must be read stay in `one`.
  // among    documents among which the phrases are looked up; empty: those of `one`
  std::vector<OnePath> GroupByPhrases(OnePath& one, const CostRule& rule, const DocSet& among);

  const RankContext context_;
  const Rules& rules_;
  std::optional<ForwardScan> scan_;  // the last scan, reused by later rules
};

}  // namespace gannet::search
