// A cost rule: a document costs the sum over the steps of the cheapest path that it matches, and
// cheaper documents come first (docs/design/ranking.md).
//
// A rule tells what a step costs at most, what it costs in one document (from its forward record),
// and what posting lists tell of many documents. How such a rule splits a bucket, whichever it is,
// is in split_by_cost.cc, and where costs come from in cost_plan.h.
//
// Invariant: posting lists and records give the same costs.
//
// Threads: what is const has no state; StepCost runs on several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "bitmap/docset.h"
#include "search/query/query_evaluator.h"
#include "search/ranking/bucket.h"
#include "search/ranking/cost_source.h"
#include "search/ranking/ranking_rule.h"
#include "search/ranking/scanned_document.h"

namespace gannet::search {

// What a search is, to a rule.
struct RankContext {
  const index::Snapshot& snapshot;
  QueryEvaluator& query;
  uint32_t max_weight;  // the greatest weight of a searchable field

  const Node& NodeOf(const Step& step) const { return query.graph.NodeOf(step); }
  // Whether step `i` of the path and the one before it stand for words that follow each other in
  // the query.
  bool Adjacent(const Path& path, size_t i) const {
    return i > 0 && NodeOf(path[i - 1]).term.last + 1 == NodeOf(path[i]).term.first;
  }
};

class CostRule : public RankingRule {
 public:
  using RankingRule::RankingRule;

  void Split(Bucket bucket, BucketSplit& out) override;
  const CostRule* cost() const override { return this; }

  // The greatest cost of step `i`.
  virtual uint32_t StepMax(const RankContext& context, const Path& path, size_t i) const = 0;
  // The cost of every document that takes the path; nullopt: documents differ.
  virtual std::optional<uint32_t> ConstantCost(const RankContext&, const Path&) const {
    return std::nullopt;
  }

  // The cost of a step in a document. previous: the step before it on the path; null: none, or the
  // rule does not ask for it.
  // REQUIRES: the document matches both.
  virtual uint32_t StepCost(const RankContext& context, ScannedDocument& document,
                            const ScannedStep* previous, const ScannedStep& step) const = 0;
  // Whether StepCost asks for the step before.
  virtual bool AsksPrevious() const { return false; }
  // Whether StepCost asks where the word as typed stands.
  virtual bool AsksWordAsTyped() const { return false; }
  // Whether a step that costs nothing counts as its word as typed for the rules that follow.
  virtual bool NarrowsToTyped() const { return false; }

  // From how many documents of one path on posting lists are asked; kNever: they tell nothing,
  // documents are always read.
  static constexpr uint64_t kNever = ~uint64_t{0};
  virtual uint64_t PostingsMin() const { return kNever; }
  // Whether costs depend on which phrases a document holds for words of the path. Posting lists are
  // then asked for documents that hold the same ones.
  virtual bool DependsOnPhrases() const { return true; }
  // Adds sources that tell the costs of the group from posting lists, each of one path.
  // max          the greatest cost of the rule
  // two_phase    of the bucket
  // REQUIRES: HasPostings() for the path, PostingsMin() is not kNever
  virtual void AddPostingSources(const RankContext& /*context*/, OnePath /*group*/,
                                 uint32_t /*max*/, TwoPhase* /*two_phase*/,
                                 Sources& /*sources*/) const {}

  // The documents of `within` (null: all live ones) that match a path of one word and cost nothing
  // along it, told from lists without looking for the others; nullopt: lists do not tell, or there
  // is nothing to gain.
  // REQUIRES: no phrase stands for the word.
  virtual std::optional<DocSet> Cheapest(const RankContext&, const Path&,
                                         const DocSet* /*within*/) const {
    return std::nullopt;
  }

  uint32_t PathMax(const RankContext& context, const Path& path) const {
    uint32_t sum = 0;
    for (size_t i = 0; i < path.size(); ++i) sum += StepMax(context, path, i);
    return sum;
  }
};

}  // namespace gannet::search
