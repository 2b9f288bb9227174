// Putting documents in order: the ranking rules, applied bucket by bucket (docs/behaviour/ranking.md, scores.md).
//
// A rule splits one bucket into ordered smaller ones; each is handed to the next rule before the rule makes
// another, and everything stops when the page is full. A bucket is its documents and the paths through the query
// graph that led to it. Under a rule a document takes its cheapest path, the first in visiting order among equals;
// a path that no document takes first is dropped, and counts neither for later rules nor for the highest cost that
// scores are measured against.
//
// `words` and `typo` are set operations on posting lists. The rules that look at positions ask posting lists as well where a
// bucket is large, else they read its documents from the forward index.
//
// rank.cc hands buckets from rule to rule. How a rule splits them is in a file named after it, or after the way:
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
#include "search/attribute_pairs.h"
#include "search/candidates.h"
#include "search/cost_source.h"
#include "search/distinct.h"
#include "search/graph.h"
#include "search/posting_sources.h"
#include "search/vector_scan.h"
#include "search/paths.h"
#include "search/query.h"
#include "search/two_phase.h"
#include "search/rules.h"
#include "search/score_details.h"
#include "search/forward_scan.h"

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

  // Documents of `allowed` (null: all live ones) that match the query in its most relaxed form.
  DocSet Universe(const DocSet* allowed);
  // Their number, at most `most`. Mostly known without finding them. REQUIRES: there is a graph.
  uint64_t CountUniverse(const DocSet* allowed, uint64_t most);
  // Fills hits() and excluded().
  void Run(DocSet universe);
  // Whether the first rule finds out itself which documents match: the universe need not be known to rank it.
  bool FindsMatches() const;
  // As Run of the universe of `allowed` (null: all live documents). REQUIRES: FindsMatches()
  void RunAllowed(const DocSet* allowed) { SplitByWords(allowed, 0, nullptr); }

  const std::vector<Hit>& hits() const { return hits_; }
  // Documents known not to count: thrown out by distinct or by the threshold.
  const DocSet& excluded() const { return excluded_; }

 private:
  struct Bucket {
    DocSet documents;
    std::vector<Path> paths;
  };

  // Whether nothing more is to be found out about the documents of a bucket with this detail: the page is full, and none of them
  // can be thrown out.
  bool Full(const Detail* detail) const;
  // A bucket that rules have made is made distinct as a whole, also behind the end of the page, for what it throws out.
  bool GoesOn(const Detail* detail) const { return !Full(detail) || (distinct_ != nullptr && !rules_.empty() && distinct_count_ < options_.enough); }
  bool Below(const Detail* detail) const;
  const Detail* Add(Detail detail);
  // What a rule says of documents with this cost; max: the greatest cost it has for the bucket.
  const Detail* AddCost(size_t rule, uint32_t cost, uint32_t max, const Detail* previous);
  void Refine(Bucket bucket, size_t rule, const Detail* detail);
  // Passes a part to the next rule, or drops it and what follows because of the threshold.
  void Descend(Bucket bucket, size_t rule, const Detail* detail, bool& dropping);
  // Places documents of equal rank. Those whose cost is not yet confirmed are read, as many as are needed.
  void Emit(const DocSet& documents, const Detail* detail);
  void EmitVerified(const DocSet& documents, const Detail* detail);

  // within: a bucket, or what its documents are to be found in; null: all live documents.
  void SplitByWords(const DocSet* within, size_t rule, const Detail* detail);
  void SplitByVector(Bucket bucket, size_t rule, const Detail* detail);
  void SplitByTypo(const Bucket& bucket, size_t rule, const Detail* detail);
  // A rule whose cost is a sum over the steps of a path.
  void SplitByCost(Bucket bucket, size_t rule, const Detail* detail);
  using Sources = std::vector<std::unique_ptr<CostSource>>;
  // The documents of a bucket by their costs, whichever way is the quickest.
  Sources SourcesOf(Bucket bucket, RuleKind kind, uint32_t max);
  // Sources of documents that match one path.
  void AddSources(OnePath group, RuleKind kind, uint32_t max, Sources& sources);
  // Of documents that match several paths, where it pays; documents: that it stands for, none is added. shared: of each path those
  // of the documents that match it. any: documents of all paths.
  std::unique_ptr<CostSource> CheapestOf(std::vector<OnePath> shared, const DocSet& any, DocSet& documents, RuleKind kind, uint32_t max);
  // What a source gave of a bucket with several paths: a path counts for what is behind only if some document is sure to take it.
  // Reads until one is; none is left if none does.
  void KeepIfTaken(const std::unique_ptr<CostSource>& source, uint32_t cost, CostBucket& cost_bucket);
  // Documents of one path, apart by the phrases that they hold. Those that have to be read are left as they are. among: for these it
  // is asked which hold a phrase; none: for the documents.
  std::vector<OnePath> GroupByPhrases(OnePath& one, RuleKind kind, const DocSet& among);
  // Those of `documents` that match every step of the path.
  DocSet Matching(const Path& path, DocSet documents);
  // What all documents cost that take the path, if they do not differ in it.
  std::optional<uint32_t> ConstantCost(RuleKind kind, const Path& path);
  // Any documents: each is read, and takes its cheapest path. Adds a source for each path that is taken.
  void AddByPositions(const Bucket& bucket, RuleKind kind, uint32_t max, Sources& sources);
  // From a sweep that serves the following rules as well.
  std::map<uint32_t, CostBucket> BucketsByScan(const OnePath& bucket, RuleKind kind, uint32_t max);
  // exactness of words: every choice of words that documents have as typed, with its cost. Known from posting lists.
  std::vector<std::pair<uint32_t, CostBucket>> ChoicesOfVerbatim(const OnePath& bucket);
  // Whether the rules from `rule` on say the same of a document of this bucket whatever others are in it, and throw none out.
  bool RanksOneByOne(size_t rule, const Detail* detail) const;
  // proximity where precision is byAttribute: parts are found cost by cost, since asking for a pair changes what later
  // buckets know.
  // Of each path of a bucket the documents that match all its steps.
  std::vector<DocSet> MatchingEach(const Bucket& bucket);
  void SplitByAttribute(const Bucket& bucket, size_t rule, const Detail* detail, uint32_t max);
  void SplitByExactAttribute(const Bucket& bucket, size_t rule, const Detail* detail);
  void SplitBySort(const Bucket& bucket, size_t rule, const Detail* detail);
  // True: the page is full, or no document is left.
  bool EmitPerfect(const DocSet* within, size_t rule, const Detail* detail);
  // The same for a path without any typo that no document matches: those with one typo fill the page.
  bool EmitOneTypo(Path path, const DocSet* within, size_t rule);
  // The same where the path without any typo, of one step, is a word. rule: the one behind typo and proximity.
  bool EmitBestAttribute(const Path& path, const DocSet* within, size_t rule);
  // All documents where that step is a phrase, all of the query, and its words stand in many. False: it is not.
  bool EmitPhrase(const Path& path, const DocSet* within, size_t rule);
  // Whether the documents without any typo come first, and the page is all that is wanted.
  bool PerfectFirst(size_t rule) const;

  Node& NodeOf(const Step& step) { return graph_->nodes()[step.node]; }
  // Documents of `within` whose cheapest expansions of a node are of this class.
  DocSet CheapestWithin(Node& node, int typos, const DocSet& within);
  // The greatest cost of the rule typo along a path.
  uint32_t TypoMax(const Path& path);
  // Looks up what stands for the steps.
  void Expand(const std::vector<Path>& paths);
  // The greatest cost of a step, or of a path, for a rule that adds up costs.
  uint32_t StepMax(RuleKind kind, const Step* previous, const Step& step);
  uint32_t PathMax(RuleKind kind, const Path& path);
  // Cost of the step for the document, given its states.
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
  std::optional<ForwardScan> scan_;  // of the last path swept
  DocSet scanned_;                    // and its documents
  std::optional<TwoPhasePhrase> phrase_;  // of a query that is one phrase, of which not all documents were read
  TwoPhase* two_phase_ = nullptr;        // what is refined may cost more than its rank says
  std::deque<Detail> details_;
  std::vector<Hit> hits_;
  uint64_t seen_ = 0;  // hits placed so far, skipped ones included
  DocSet excluded_;
  DocSet kept_;  // hits of an exhaustive distinct search
  uint64_t distinct_count_ = 0;  // documents that were not thrown out, behind the page as well
  bool degraded_ = false;
};

}  // namespace gannet::search
