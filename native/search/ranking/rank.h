// Ranks documents: applies the ranking rules bucket by bucket (docs/behaviour/ranking.md,
// scores.md).
//
// A rule splits one bucket into ordered smaller ones. Each is passed to the next rule before the
// rule makes another, and ranking stops when the page is full. A bucket has its documents and the
// paths through the query graph that led to it. Under a rule a document takes its cheapest path,
// the first in visiting order if several are equally cheap. A path that no document takes is
// dropped, and counts neither for later rules nor for the highest cost in scores.
//
// The file of a rule says how it splits a bucket (ranking_rule.h). The ranker passes buckets from
// rule to rule and fills the page, independently of the rules.
//
// Threads: one owner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "bitmap/docset.h"
#include "search/query/query_evaluator.h"
#include "search/query/query.h"
#include "search/ranking/bucket.h"
#include "search/ranking/cost_plan.h"
#include "search/ranking/paths.h"
#include "search/ranking/ranking_rule.h"
#include "search/ranking/score_details.h"
#include "search/ranking/two_phase.h"
#include "search/results/distinct.h"

namespace gannet::search {

struct RankOptions {
  MatchingStrategy strategy = MatchingStrategy::kLast;
  uint64_t offset = 0;      // hits before it are counted but not kept
  uint64_t end = 0;         // number of hits wanted, including those before the offset
  bool exhaustive = false;  // rank every document, so that totals are exact
  bool details = false;     // compute scores: every bucket is passed through all rules
  std::optional<double> threshold;
  // Distinct documents are counted only up to this number.
  uint64_t enough = ~uint64_t{0};
  Deadline* deadline = nullptr;
};

class Ranker {
 public:
  // query: null for a placeholder search.
  Ranker(const index::Snapshot& snapshot, QueryEvaluator* query, const ParsedQuery& parsed,
         const RankOptions& options, Rules rules, Distinct* distinct);

  // The documents of `allowed` (null: all live ones) that match the query in its most relaxed form.
  DocSet Universe(const DocSet* allowed);
  // The size of Universe(allowed), capped at `limit`. Cheaper than Universe for most queries.
  // REQUIRES: there is a query.
  uint64_t CountUniverse(const DocSet* allowed, uint64_t limit);
  // Ranks `universe`: fills hits() and excluded().
  void Run(DocSet universe);
  // Whether the first rule finds the matching documents itself, so that RunAllowed may be called.
  bool FindsMatches() const;
  // The same as Run(Universe(allowed)), without computing the whole universe. REQUIRES:
  // FindsMatches()
  void RunAllowed(const DocSet* allowed);

  const std::vector<Hit>& hits() const { return hits_; }
  // Documents dropped so far by distinct or by the score threshold.
  const DocSet& excluded() const { return excluded_; }

  // The functions below are for rules.
  const index::Snapshot& snapshot() const { return snapshot_; }
  QueryEvaluator& query() const { return *query_; }  // REQUIRES: there is a query
  bool has_query() const { return query_ != nullptr; }
  const ParsedQuery& parsed() const { return parsed_; }
  const RankOptions& options() const { return options_; }
  const Rules& rules() const { return rules_; }
  const PathStages& stages() const { return stages_; }
  CostPlan& costs() { return *costs_; }  // REQUIRES: there is a query
  bool has_distinct() const { return distinct_ != nullptr; }
  // The number of hits that the page still needs.
  uint64_t wanted() const { return options_.end - std::min(seen_, options_.end); }
  // Whether a bucket need not be refined: the page is full, and no document of the bucket can be
  // dropped by distinct or by the threshold.
  // detail    what the rules said of the bucket so far
  bool Full(const Detail* detail) const;
  // Whether the score is below the threshold.
  bool Below(const Detail* detail) const;
  // Whether the rules from number `rule` on rank a document of this bucket independently of the
  // other documents, and drop none. Two-phase ranking is exact only then.
  bool RanksOneByOne(size_t rule, const Detail* detail) const;
  const Detail* Add(Detail detail);
  // The detail of documents that were not ranked because the deadline passed.
  const Detail* AddSkipped(const Detail* previous);
  // Passes a bucket to rule number `rule`.
  void Refine(Bucket bucket, size_t rule, const Detail* detail);
  // Adds documents of equal rank to the hits. Verifies approximate ones, as many as the page needs.
  void Emit(const Bucket& bucket, const Detail* detail);
  // Drops documents because of the score threshold.
  void Exclude(const DocSet& documents) { excluded_ |= documents; }
  // Stores the TwoPhase of a query that is one phrase, of which not all documents are read.
  TwoPhasePhrase& Keep(const Phrase& phrase, PhraseMatches matches) {
    return phrase_.emplace(query_->phrases, phrase, std::move(matches));
  }

 private:
  // Whether to continue with a bucket. Distinct needs whole buckets, also after the end of the
  // page, because the documents that it drops count in totals.
  bool GoesOn(const Detail* detail) const {
    return !Full(detail) ||
           (distinct_ != nullptr && !rules_.empty() && distinct_count_ < options_.enough);
  }
  // Splits a bucket by a rule.
  void Split(Bucket bucket, size_t rule, const Detail* detail);
  // The same until the deadline: documents not ranked by then follow unranked, those of inner
  // buckets first.
  void SplitInTime(Bucket bucket, size_t rule, const Detail* detail);
  // Whether the deadline ends a rule.
  bool Stops(size_t rule) const;
  // Whether SplitInTime may be used for the bucket and is worthwhile.
  // size    size of the bucket
  bool MayStop(const Bucket& bucket, uint64_t size) const;
  void EmitVerified(const DocSet& documents, const Detail* detail);

  const index::Snapshot& snapshot_;
  QueryEvaluator* query_;
  const ParsedQuery& parsed_;
  const RankOptions& options_;
  const Rules rules_;
  size_t remembering_ = 0;  // rules up to the last one that remembers buckets
  Distinct* distinct_;
  PathStages stages_;
  std::optional<CostPlan> costs_;         // set if there is a query
  std::optional<TwoPhasePhrase> phrase_;  // set by Keep
  std::deque<Detail> details_;
  std::vector<Hit> hits_;
  std::vector<DocSet> passed_;  // documents that were skipped, before the offset
  uint64_t seen_ = 0;           // number of hits so far, including those before the offset
  DocSet excluded_;
  uint64_t distinct_count_ = 0;  // kept by distinct, also after the page
};

// The split of one bucket by a rule, which passes the parts to the next rule.
class BucketSplit {
 public:
  // rule    number of the rule
  // said    what the earlier rules said of the bucket; null: nothing
  BucketSplit(Ranker& of, size_t rule, const Detail* said) : ranker(of), rule(rule), said(said) {}

  bool Full() const { return ranker.Full(said); }
  // Passes a part to the next rule, or drops it because of the score threshold; all later parts are
  // then dropped as well.
  // detail    what the rule says of the part
  void Give(Bucket part, Detail detail);
  void Give(Bucket part, uint32_t rank, uint32_t max);
  // max    highest cost of the rule for the bucket
  void GiveCost(Bucket part, uint32_t cost, uint32_t max) {
    Give(std::move(part), max + 1 - std::min(cost, max), max + 1);
  }

  Ranker& ranker;
  const size_t rule;
  const Detail* const said;

 private:
  bool dropping_ = false;
};

}  // namespace gannet::search
