// Putting documents in order: the ranking rules, applied bucket by bucket (docs/behaviour/ranking.md, scores.md).
//
// A rule splits one bucket into ordered smaller ones; each is handed to the next rule before the rule makes
// another, and everything stops when the page is full. A bucket is its documents and the paths through the query
// graph that led to it. Under a rule a document takes its cheapest path, the first in visiting order among equals;
// a path that no document takes first is dropped, and counts neither for later rules nor for the highest cost that
// scores are measured against.
//
// `words` and `typo` are set operations on posting lists. The rules that look at positions ask
// posting lists where a bucket is large, and read the documents of a small one (cost_source.h,
// two_phase.h).
//
// rank.cc hands buckets from rule to rule. How a rule splits a bucket is in a file named after the
// rule, or after the way:
// rank_typo.cc, rank_cost.cc (rules that add up a cost along a path; posting_sources.h and rank_positions.cc tell the costs),
// rank_attribute.cc, rank_exactness.cc, rank_vector.cc. rank_perfect.cc has the ways to a full page without splitting.
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
#include "search/query/graph.h"
#include "search/query/query.h"
#include "search/ranking/attribute_pairs.h"
#include "search/ranking/candidates.h"
#include "search/ranking/cost_source.h"
#include "search/ranking/forward_scan.h"
#include "search/ranking/paths.h"
#include "search/ranking/posting_sources.h"
#include "search/ranking/rules.h"
#include "search/ranking/score_details.h"
#include "search/ranking/two_phase.h"
#include "search/results/distinct.h"
#include "search/vector_scan.h"

namespace gannet::search {

struct Hit {
  DocId docid;
  const Detail* detail;  // null when no rule ran
};

struct RankOptions {
  MatchingStrategy strategy = MatchingStrategy::kLast;
  uint64_t offset = 0;         // hits before it are counted, not kept
  uint64_t end = 20;           // hits wanted, offset included
  bool exhaustive = false;     // go on until every document is placed: totals are then exact
  bool details = false;        // scores are wanted: every bucket is refined to the end
  std::optional<double> threshold;
  uint64_t enough = ~uint64_t{0};  // with so many distinct documents it does not matter how many more there are
  Deadline* deadline = nullptr;
  const VectorScan* vector_scan = nullptr;  // of the rule kVector
};

class Ranker {
 public:
  // graph: null for a placeholder search.
  Ranker(const index::Snapshot& snapshot, Graph* graph, const ParsedQuery& query, const RankOptions& options,
         std::vector<Rule> rules, Distinct* distinct);

  // The documents of `allowed` (null: all live ones) that match the query in its most relaxed form.
  DocSet Universe(const DocSet* allowed);
  // The size of Universe(allowed), at most `most`. Cheaper than Universe for most queries.
  // REQUIRES: there is a graph.
  uint64_t CountUniverse(const DocSet* allowed, uint64_t most);
  // Ranks `universe`: fills hits() and excluded().
  void Run(DocSet universe);
  // Whether the first rule finds the matching documents itself, so that RunAllowed may be called.
  bool FindsMatches() const;
  // The same as Run(Universe(allowed)), without finding the whole universe. REQUIRES: FindsMatches()
  void RunAllowed(const DocSet* allowed) { SplitByWords(allowed, 0, nullptr); }

  const std::vector<Hit>& hits() const { return hits_; }
  // Documents dropped so far by distinct or by the score threshold.
  const DocSet& excluded() const { return excluded_; }

 private:
  struct Bucket {
    DocSet documents;
    std::vector<Path> paths;
  };

  // Whether a bucket need not be refined: the page is full, and no document of the bucket can be dropped
  // by distinct or by the threshold.
  // detail    what the rules said of the bucket so far
  bool Full(const Detail* detail) const;
  // Whether to go on with a bucket. Distinct looks at whole buckets, also behind the end of the page,
  // for the documents that it drops count in totals.
  bool GoesOn(const Detail* detail) const { return !Full(detail) || (distinct_ != nullptr && !rules_.empty() && distinct_count_ < options_.enough); }
  bool Below(const Detail* detail) const;
  const Detail* Add(Detail detail);
  // The detail of documents of one cost.
  // rule    number of the rule
  // max     the greatest cost that the rule has for the bucket
  const Detail* AddCost(size_t rule, uint32_t cost, uint32_t max, const Detail* previous);
  // The detail of documents that time has not sufficed for.
  const Detail* AddSkipped(const Detail* previous);
  void Refine(Bucket bucket, size_t rule, const Detail* detail);
  // Passes a bucket to rule number `rule`, or drops it because of the score threshold.
  // dropping    set once a bucket was dropped: the following ones are dropped as well
  void Descend(Bucket bucket, size_t rule, const Detail* detail, bool& dropping);
  // Returns documents of equal rank as hits. Verifies approximate ones, as many as the page needs.
  void Emit(const DocSet& documents, const Detail* detail);
  void EmitVerified(const DocSet& documents, const Detail* detail);

  // within    the documents to split, or a superset in which to find them; null: all live documents
  void SplitByWords(const DocSet* within, size_t rule, const Detail* detail);
  void SplitByVector(Bucket bucket, size_t rule, const Detail* detail);
  void SplitByTypo(const Bucket& bucket, size_t rule, const Detail* detail);
  // Splits by a rule whose cost is a sum over the steps of a path.
  void SplitByCost(Bucket bucket, size_t rule, const Detail* detail);
  using Sources = std::vector<std::unique_ptr<CostSource>>;
  // Cost sources for all documents of a bucket, each of the quickest kind for its documents.
  // max    the greatest cost of the rule
  Sources SourcesOf(Bucket bucket, RuleKind kind, uint32_t max);
  // Adds the cost source of documents that match one path.
  void AddSources(OnePath group, RuleKind kind, uint32_t max, Sources& sources);
  // A cost source for documents that match several paths; null where reading them is quicker.
  // shared       of each path: the documents that match it
  // any          documents of all paths
  // documents    the documents of several paths; those without a source are removed
  std::unique_ptr<CostSource> CheapestOf(std::vector<OnePath> shared, const DocSet& any, DocSet& documents, RuleKind kind, uint32_t max);
  // Verifies documents of a cost bucket until one is known to take its path, for a bucket with several
  // paths: a path counts for the rules that follow only if some document takes it. Leaves no document
  // if none does.
  void KeepIfTaken(const std::unique_ptr<CostSource>& source, uint32_t cost, CostBucket& cost_bucket);
  // Groups documents of one path by the phrases that they hold. Documents that must be read for that
  // stay in `one`.
  // among    documents among which the phrases are looked up; empty: those of `one`
  std::vector<OnePath> GroupByPhrases(OnePath& one, RuleKind kind, const DocSet& among);
  // The documents of `documents` that match every step of the path.
  DocSet Matching(const Path& path, DocSet documents);
  // The cost of every document that takes the path; nullopt: documents differ.
  std::optional<uint32_t> ConstantCost(RuleKind kind, const Path& path);
  // Reads all documents of a bucket; each takes its cheapest path. Adds a source per path that is taken.
  void AddByPositions(const Bucket& bucket, RuleKind kind, uint32_t max, Sources& sources);
  // The cost buckets of documents of one path by a forward scan, which serves the following rules too.
  std::map<uint32_t, CostBucket> BucketsByScan(const OnePath& bucket, RuleKind kind, uint32_t max);
  // For exactness of words: each combination of words that documents hold as typed, with its cost and
  // its documents, from posting lists.
  std::vector<std::pair<uint32_t, CostBucket>> ChoicesOfVerbatim(const OnePath& bucket);
  // Whether the rules from number `rule` on rank a document of this bucket independently of the other
  // documents, and drop none. Two-phase ranking is exact only then.
  bool RanksOneByOne(size_t rule, const Detail* detail) const;
  // For each path of a bucket, the documents that match all of its steps.
  std::vector<DocSet> MatchingEach(const Bucket& bucket);
  // Proximity where proximityPrecision is byAttribute. Costs are computed in order, since asking for a
  // pair of words changes what later buckets find (attribute_pairs.h).
  void SplitByAttribute(const Bucket& bucket, size_t rule, const Detail* detail, uint32_t max);
  void SplitByExactAttribute(const Bucket& bucket, size_t rule, const Detail* detail);
  void SplitBySort(const Bucket& bucket, size_t rule, const Detail* detail);
  // Fills the page with documents that match the query without any typo, without splitting by the rules
  // words and typo. True: the page is full, or no document is left.
  bool EmitPerfect(const DocSet* within, size_t rule, const Detail* detail);
  // Likewise with documents of one typo, where no document matches without typos.
  bool EmitOneTypo(Path path, const DocSet* within, size_t rule);
  // Likewise for a path of one step that is a word.
  // rule    number of the rule that follows typo and proximity
  bool EmitBestAttribute(const Path& path, const DocSet* within, size_t rule);
  // Likewise for a query that is one phrase whose words stand in many documents.
  bool EmitPhrase(const Path& path, const DocSet* within, size_t rule);
  // Whether documents without typos come first and only the page is wanted, so that the Emit functions
  // above may be tried.
  bool PerfectFirst(size_t rule) const;

  Node& NodeOf(const Step& step) { return graph_->nodes()[step.node]; }
  // The documents of `within` whose cheapest expansions of a node are of class `typos`.
  DocSet CheapestWithin(Node& node, int typos, const DocSet& within);
  // The greatest cost of the rule typo along a path.
  uint32_t TypoMax(const Path& path);
  // Looks up what stands for the steps.
  void Expand(const std::vector<Path>& paths);
  // The greatest cost of a step, of a path, for a rule that adds up costs.
  uint32_t StepMax(RuleKind kind, const Step* previous, const Step& step);
  uint32_t PathMax(RuleKind kind, const Path& path);
  // The cost of a step for a document, given how the document matches the step and the one before.
  uint32_t StepCost(RuleKind kind, DocId docid, const Step* previous, const State* left, const Step& step,
                    const State& right);
  uint32_t WordDistance(DocId docid, const State& left, const Step& step, const State& right);

  const index::Snapshot& snapshot_;
  Graph* graph_;
  const RankOptions& options_;
  std::vector<Rule> rules_;
  Distinct* distinct_;
  PathStages stages_;
  uint32_t max_weight_ = 0;
  std::unique_ptr<Candidates> candidates_;
  std::optional<AttributePairs> pairs_;  // where proximity is byAttribute
  size_t pairs_rule_ = 0;                // the rule that asks for them
  std::optional<ForwardScan> scan_;       // of the path that was scanned last
  DocSet scanned_;                        // documents of that scan
  std::optional<TwoPhasePhrase> phrase_;  // of a query that is one phrase, of which not all documents were read
  TwoPhase* two_phase_ = nullptr;         // of the bucket being refined; null: all of its documents are verified
  std::deque<Detail> details_;
  std::vector<Hit> hits_;
  uint64_t seen_ = 0;  // hits returned so far, those before the offset included
  DocSet excluded_;
  uint64_t distinct_count_ = 0;  // documents kept by distinct, those behind the page included
  bool degraded_ = false;
};

}  // namespace gannet::search
