// Groups of hits: the hits that distinct keeps, each with further hits that share a value with it
// (docs/behaviour/groups.md).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "bitmap/docset.h"
#include "search/federation/federation.h"
#include "search/federation/merge.h"
#include "search/federation/ranked_hits.h"
#include "search/hits.h"
#include "search/request.h"
#include "search/results/distinct.h"

namespace gannet::search {

// The groups of the hits of several queries, or of one. Threads: one owner; idle threads help to
// rank the groups.
class Groups {
 public:
  // What the queries find without distinct.
  struct Found {
    Federation federation;
    std::unique_ptr<MergedList> list;
    uint64_t total = 0;
  };

  // heads  queries that were run with distinct by the attribute. One that names no index is that of
  //        a search of one index: its hits show no source. Lifetime: borrowed.
  Groups(const Federation& heads, const GroupBy& group, uint64_t response_bytes_max);

  // Appends the groups of a page as JSON objects.
  // best  what the queries keep with distinct; the first hits of the groups
  // Corruption: a stored document is damaged. Invalid: as CheckResponseSize.
  Status Append(const std::vector<RankedHit>& best, std::string& out);

  // All candidates, without hits.
  Result<std::unique_ptr<Found>> Candidates() const { return Find(nullptr, 0, true); }

 private:
  struct Index {
    const index::Snapshot* snapshot;
    std::unique_ptr<Distinct> distinct;
    DocSet matching;  // documents that pass the filter of a query
  };
  struct Query {
    SearchRequest request;  // of the further hits
    size_t index;
    DocSet matching;
  };
  using Members = std::vector<DocSet>;  // the documents of a group, by index
  struct Group {
    Members members;
    std::string text;
    Status status = Status::Ok();
  };

  // Whether the queries are a search of one index.
  bool plain() const { return heads_.queries.size() == 1 && heads_.queries[0].uid.empty(); }
  Status FindMatching();
  // within: null: all documents
  Result<std::unique_ptr<Found>> Find(const Members* within, uint64_t hits,
                                      bool needs_candidates) const;
  Status RankTogether(Members documents);
  Members MembersOf(const RankedHit& best) const;
  Status AppendGroup(const RankedHit& best, const Members& members, std::string& out) const;
  Status Write(const Federation& of, const std::vector<RankedHit>& hits, std::string& out) const;
  std::vector<RankedHit> Further(const Found& found, const Members& members, Members& shown) const;
  Status AppendValue(const RankedHit& best, std::string& out) const;

  const Federation& heads_;
  const GroupBy& group_;
  const uint64_t response_bytes_max_;
  std::vector<Index> indexes_;
  std::vector<Query> queries_;
  // The first hits of the list, if a query is hybrid. Their scores and ranks depend on all
  // documents of the list, not only on those of a group. Else null.
  std::unique_ptr<Found> list_;
  std::unique_ptr<Found> together_;  // null: each group is ranked alone
  Members candidates_;               // of together_
  mutable std::map<const SearchRun*, std::unique_ptr<HitWriter>> writers_;
};

}  // namespace gannet::search
