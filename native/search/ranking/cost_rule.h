// A cost rule: the cost of a document is the sum over the steps of the cheapest path that it
// matches, and cheaper documents come first (docs/internals/ranking.md).
//
// A rule defines the maximum cost of a step, its cost in one document (from the forward record),
// and which costs posting lists give for many documents. split_by_cost.cc splits a bucket by any
// such rule, and cost_plan.h chooses the source of the costs.
//
// Invariant: posting lists and records give the same costs.
//
// Threads: const functions have no state; StepCost runs on several threads.
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

// What a rule knows of a search.
struct RankContext {
  const index::Snapshot& snapshot;
  QueryEvaluator& query;
  uint32_t max_weight;  // the highest weight of a searchable field

  const Node& NodeOf(const Step& step) const { return query.graph.NodeOf(step); }
  // Whether step `i` of the path and the step before it stand for words that are adjacent in the
  // query.
  bool Adjacent(const Path& path, size_t i) const {
    return i > 0 && NodeOf(path[i - 1]).term.last + 1 == NodeOf(path[i]).term.first;
  }
};

class CostRule : public RankingRule {
 public:
  using RankingRule::RankingRule;

  void Split(Bucket bucket, BucketSplit& out) override;
  const CostRule* cost() const override { return this; }

  // The highest cost of step `i`.
  virtual uint32_t StepMax(const RankContext& context, const Path& path, size_t i) const = 0;
  // The cost of every document that takes the path; nullopt: it depends on the document.
  virtual std::optional<uint32_t> ConstantCost(const RankContext&, const Path&) const {
    return std::nullopt;
  }

  // The cost of a step in a document. previous: the step before it on the path; null if there is
  // none or AsksPrevious() is false.
  // REQUIRES: the document matches both.
  virtual uint32_t StepCost(const RankContext& context, ScannedDocument& document,
                            const ScannedStep* previous, const ScannedStep& step) const = 0;
  // Whether StepCost needs the previous step.
  virtual bool AsksPrevious() const { return false; }
  // Whether StepCost needs the occurrences of the word as typed.
  virtual bool AsksWordAsTyped() const { return false; }
  // Whether later rules restrict a step of cost 0 to the word as typed.
  virtual bool NarrowsToTyped() const { return false; }

  // The number of documents of one path from which posting lists are used; kNever: they give no
  // costs, documents are always read.
  static constexpr uint64_t kNever = ~uint64_t{0};
  virtual uint64_t PostingsMin() const { return kNever; }
  // Whether costs depend on which phrases a document contains for words of the path. If so, posting
  // lists are used for groups of documents that contain the same ones.
  virtual bool DependsOnPhrases() const { return true; }
  // Adds sources that compute the costs of the group from posting lists, each for one path.
  // max          highest cost of the rule
  // two_phase    that of the bucket
  // REQUIRES: HasPostings() for the path, PostingsMin() is not kNever
  virtual void AddPostingSources(const RankContext& /*context*/, OnePath /*group*/,
                                 uint32_t /*max*/, TwoPhase* /*two_phase*/,
                                 Sources& /*sources*/) const {}

  // The documents of `within` (null: all live ones) that match a path of one word at cost 0, found
  // in lists without looking for the others; nullopt: lists do not give them, or it would not be
  // faster.
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
