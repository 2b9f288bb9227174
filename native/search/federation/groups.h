// Groups of hits: the hits that distinct keeps, each with further hits that share a value with it
// (docs/behaviour/groups.md).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "bitmap/docset.h"
#include "search/federation/federation.h"
#include "search/federation/merge.h"
#include "search/federation/ranked_hits.h"
#include "search/hits.h"
#include "search/page.h"
#include "search/request.h"
#include "search/results/distinct.h"

namespace gannet::search {

// Appends the values of a document at a path as JSON: one value, the list of several, or null.
// Corruption: the document is damaged.
Status AppendShownValue(const index::Snapshot& snapshot, const std::string& attribute, DocId docid,
                        std::string& out);

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

  // Appends the hits of groups that other hits begin, in order.
  // values  of each group, in the form of distinct_values.h
  // totals  receives the number of hits of each group
  // Corruption: a stored document is damaged. Invalid: as CheckResponseSize.
  Status AppendMembers(const FederatedRequest& request,
                       const std::vector<std::vector<std::string>>& values, Page& page,
                       std::vector<uint64_t>& totals);

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
  // The hits of a group, and what borrows them.
  struct Ranked {
    uint64_t total = 0;
    std::vector<std::pair<const Federation*, RankedHit>> hits;
    std::unique_ptr<Found> own;  // if the group was ranked alone
  };

  // Whether the queries are a search of one index.
  bool plain() const { return heads_.queries.size() == 1 && heads_.queries[0].uid.empty(); }
  Status FindMatching();
  Status FindList();
  // within: null: all documents
  Result<std::unique_ptr<Found>> Find(const Members* within, uint64_t hits,
                                      bool needs_candidates) const;
  Status RankTogether(Members documents);
  Members MembersOf(const std::vector<std::string>& values) const;
  // best  null: all hits come from the lists
  Result<Ranked> Rank(const Members& members, const RankedHit* best) const;
  Status AppendGroup(const RankedHit& best, const Members& members, std::string& out) const;

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
  // Writers for groups that are ranked together, which one thread writes.
  mutable std::map<const SearchRun*, std::unique_ptr<HitWriter>> writers_;
};

}  // namespace gannet::search
