// Putting documents in order: the ranking rules, applied bucket by bucket
// (docs/behaviour/ranking.md, scores.md).
//
// A rule splits one bucket into ordered smaller ones; each is handed to the next rule before the
// rule makes another, and everything stops when the page is full. A bucket is its documents and the
// paths through the query graph that led to it. Under a rule a document takes its cheapest path,
// the first in visiting order among equals; a path that no document takes first is dropped, and
// counts neither for later rules nor for the highest cost that scores are measured against.
//
// `words` and `typo` are set operations on posting lists. Cost rules (cost_rule.h) ask posting
// lists where a bucket is large, and read the documents of a small one.
//
// rank.cc hands buckets from rule to rule and fills the page. How a rule splits a bucket is in a
// file in rules/, named after it; how cost rules do, whichever they are, in split_by_cost.cc and
// cost_plan.cc.
//
// Threads: one owner.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "bitmap/docset.h"
#include "search/query/query_evaluator.h"
#include "search/query/query.h"
#include "search/ranking/bucket.h"
#include "search/ranking/cost_rule.h"
#include "search/ranking/cost_source.h"
#include "search/ranking/forward_scan.h"
#include "search/ranking/paths.h"
#include "search/ranking/rules.h"
#include "search/ranking/rules/attribute_pairs.h"
#include "search/ranking/score_details.h"
#include "search/ranking/two_phase.h"
#include "search/results/distinct.h"
#include "search/vectors/vector_scan.h"

namespace gannet::search {

struct Hit {
  DocId docid;
  const Detail* detail;  // null when no rule ran
};

struct RankOptions {
  MatchingStrategy strategy = MatchingStrategy::kLast;
  uint64_t offset = 0;      // hits before it are counted, not kept
  uint64_t end = 20;        // hits wanted, offset included
  bool exhaustive = false;  // go on until every document is placed: totals are then exact
  bool details = false;     // scores are wanted: every bucket is refined to the end
  std::optional<double> threshold;
  uint64_t enough =
      ~uint64_t{0};  // with so many distinct documents it does not matter how many more there are
  Deadline* deadline = nullptr;
  const VectorScan* vector_scan = nullptr;  // of the rule kVector
};

class Ranker {
 public:
  // query: null for a placeholder search.
  Ranker(const index::Snapshot& snapshot, QueryEvaluator* query, const ParsedQuery& parsed,
         const RankOptions& options, std::vector<Rule> rules, Distinct* distinct);

  // The documents of `allowed` (null: all live ones) that match the query in its most relaxed form.
  DocSet Universe(const DocSet* allowed);
  // The size of Universe(allowed), at most `most`. Cheaper than Universe for most queries.
  // REQUIRES: there is a query.
  uint64_t CountUniverse(const DocSet* allowed, uint64_t most);
  // Ranks `universe`: fills hits() and excluded().
  void Run(DocSet universe);
  // Whether the first rule finds the matching documents itself, so that RunAllowed may be called.
  bool FindsMatches() const;
  // The same as Run(Universe(allowed)), without finding the whole universe. REQUIRES:
  // FindsMatches()
  void RunAllowed(const DocSet* allowed) { SplitByWords(allowed, 0, nullptr); }

  const std::vector<Hit>& hits() const { return hits_; }
  // Documents dropped so far by distinct or by the score threshold.
  const DocSet& excluded() const { return excluded_; }

 private:
  // Whether a bucket need not be refined: the page is full, and no document of the bucket can be
  // dropped by distinct or by the threshold.
  // detail    what the rules said of the bucket so far
  bool Full(const Detail* detail) const;
  // Whether to go on with a bucket. Distinct looks at whole buckets, also behind the end of the
  // page, for the documents that it drops count in totals.
  bool GoesOn(const Detail* detail) const {
    return !Full(detail) ||
           (distinct_ != nullptr && !rules_.empty() && distinct_count_ < options_.enough);
  }
  bool Below(const Detail* detail) const;
  const Detail* Add(Detail detail);
  // The detail of documents of one cost.
  // rule    number of the rule
  // max     the greatest cost that the rule has for the bucket
  const Detail* AddCost(size_t rule, uint32_t cost, uint32_t max, const Detail* previous);
  // The detail of documents that time has not sufficed for.
  const Detail* AddSkipped(const Detail* previous);
  void Refine(Bucket bucket, size_t rule, const Detail* detail);
  // Splits a bucket by a rule.
  void Split(Bucket bucket, size_t rule, const Detail* detail);
  // The same until the deadline: documents that have no place by then follow unranked, those of
  // inner buckets first.
  void SplitInTime(Bucket bucket, size_t rule, const Detail* detail);
  // Whether SplitInTime may split the bucket, and is worth it.
  // size    of the bucket
  bool MayStop(const Bucket& bucket, uint64_t size) const;
  // Passes a bucket to rule number `rule`, or drops it because of the score threshold.
  // dropping    set once a bucket was dropped: the following ones are dropped as well
  void Descend(Bucket bucket, size_t rule, const Detail* detail, bool& dropping);
  // Returns documents of equal rank as hits. Verifies approximate ones, as many as the page needs.
  void Emit(const Bucket& bucket, const Detail* detail);
  void EmitVerified(const DocSet& documents, const Detail* detail);

  // One function per kind of rule, in the file of the rule.
  // within    the documents to split, or a superset in which to find them; null: all live documents
  void SplitByWords(const DocSet* within, size_t rule, const Detail* detail);
  void SplitByVector(Bucket bucket, size_t rule, const Detail* detail);
  void SplitByTypo(const Bucket& bucket, size_t rule, const Detail* detail);
  void SplitByExactAttribute(const Bucket& bucket, size_t rule, const Detail* detail);
  void SplitBySort(const Bucket& bucket, size_t rule, const Detail* detail);
  // By a cost rule (split_by_cost.cc).
  void SplitByCost(Bucket bucket, size_t rule, const Detail* detail);
  // Proximity where proximityPrecision is byAttribute. Costs are computed in order, since asking
  // for a pair of words changes what later buckets find (attribute_pairs.h).
  void SplitByAttribute(const Bucket& bucket, size_t rule, const Detail* detail, uint32_t max);

  // Of SplitByWords, where only the page is wanted and `typo` follows: the documents that match the
  // query as typed are the first bucket of both, and are found without looking for others
  // (words.cc).
  bool BeginsWithTyped(size_t rule, const Detail* detail) const;
  // Adds to `done` the documents that were ranked. True: there are no others.
  bool EmitTyped(const DocSet* within, size_t rule, DocSet& done);
  // Of one word: those that cost nothing under the next rules, found without looking for the
  // others.
  // rule    number of the rule that follows typo
  void EmitCheapest(const Path& path, const DocSet* within, size_t rule, DocSet& done);
  // Of one phrase whose words stand in many documents. False: nothing is known to be gained.
  bool EmitPhrase(const Path& path, const DocSet* within, size_t rule);

  // The planner of cost rules (cost_plan.cc): sources for all documents of a bucket, each of the
  // quickest kind for its documents.
  // max    the greatest cost of the rule
  Sources SourcesOf(Bucket bucket, size_t rule, uint32_t max);
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
  // The documents of `documents` that match every step of the path.
  DocSet Matching(const Path& path, DocSet documents);
  // For each path of a bucket, the documents that match all of its steps.
  std::vector<DocSet> MatchingEach(const Bucket& bucket);
  // Verifies documents of a cost bucket until one is known to take its path, for a bucket with
  // several paths: a path counts for the rules that follow only if some document takes it. Leaves
  // no document if none does.
  // two_phase    of the bucket that is split
  void KeepIfTaken(const std::unique_ptr<CostSource>& source, uint32_t cost, TwoPhase* two_phase,
                   CostBucket& cost_bucket);
  // Whether the rules from number `rule` on rank a document of this bucket independently of the
  // other documents, and drop none. Two-phase ranking is exact only then.
  bool RanksOneByOne(size_t rule, const Detail* detail) const;

  const Node& NodeOf(const Step& step) const { return query_->graph.NodeOf(step); }
  // The documents of `within` whose cheapest expansions of a node are of class `typos`.
  DocSet CheapestWithin(NodeNumber node, int typos, const DocSet& within);
  // The greatest cost of the rule typo along a path.
  uint32_t TypoMax(const Path& path);

  const index::Snapshot& snapshot_;
  QueryEvaluator* query_;
  const RankOptions& options_;
  std::vector<Rule> rules_;
  Distinct* distinct_;
  PathStages stages_;
  std::optional<RankContext> context_;   // where there is a query
  std::optional<AttributePairs> pairs_;  // where proximity is byAttribute
  size_t pairs_rule_ = 0;                // the rule that asks for them
  std::optional<ForwardScan> scan_;      // the last one; of use to the rules behind
  std::optional<TwoPhasePhrase>
      phrase_;  // of a query that is one phrase, of which not all documents were read
  std::deque<Detail> details_;
  std::vector<Hit> hits_;
  std::vector<DocSet> passed_;  // hold the documents that were passed over, before the offset
  uint64_t seen_ = 0;           // hits returned so far, those before the offset included
  DocSet excluded_;
  uint64_t distinct_count_ = 0;  // documents kept by distinct, those behind the page included
};

}  // namespace gannet::search
