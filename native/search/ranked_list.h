// A list of ranked documents and everything that it was made with.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/matching/field_scope.h"
#include "search/natural/natural_scan.h"
#include "search/query/query.h"
#include "search/query/query_evaluator.h"
#include "search/ranking/rank.h"
#include "search/ranking/sort.h"
#include "search/results/distinct.h"
#include "search/vectors/vector_scan.h"

namespace gannet::search {

// Hits point to details and rules of the ranker, which borrows the rest, so all of it has the same
// lifetime and must not move. `Rank` in execute.cc fills the members in order.
struct RankedList {
  RankedList(std::shared_ptr<const index::Snapshot> of, const Deadline& end)
      : snapshot(std::move(of)), deadline(end) {}
  RankedList(const RankedList&) = delete;
  RankedList& operator=(const RankedList&) = delete;

  // REQUIRES: there is a ranker.
  const std::vector<Hit>& hits() const { return ranker->hits(); }

  const std::shared_ptr<const index::Snapshot> snapshot;
  Deadline deadline;
  FieldScope scope;
  ParsedQuery query;
  std::vector<SortCriterion> sort;  // criteria of the request
  std::unique_ptr<QueryEvaluator> evaluator;
  std::unique_ptr<Distinct> distinct;    // null: none
  std::unique_ptr<VectorScan> scan;      // null: no vector
  std::unique_ptr<NaturalScan> natural;  // null: the query is no question
  RankOptions options;
  std::unique_ptr<Ranker> ranker;
  // The documents that count for totals and facets, if requested, and their number, capped at the
  // hits that can be reached.
  DocSet candidates;
  uint64_t total = 0;
};

}  // namespace gannet::search
