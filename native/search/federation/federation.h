// The queries of a federated search and their indexes, and what becomes of them step by step.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"
#include "bitmap/docset.h"
#include "index/index.h"
#include "search/federation/request.h"
#include "search/pins.h"
#include "search/request.h"
#include "search/search_run.h"

namespace gannet::search {

struct FederatedQuery {
  std::string uid;
  double weight = 1;
  uint64_t position = 0;             // as reported
  SearchRequest request;             // of the whole list that merging may need; `run` takes it over
  std::vector<PinnedDocument> pins;  // in the order of precedence; of PlacePins: by position
  std::shared_ptr<const index::Snapshot> snapshot;
  Status status;                   // of pins and of the run
  std::unique_ptr<SearchRun> run;  // of RunQueries
};

struct SearchedIndex {
  std::shared_ptr<const index::Snapshot> snapshot;
  std::vector<uint32_t> queries;  // none: only its facet list is checked
  std::optional<std::vector<std::string>> facets;
  DocSet pinned;    // by any query (PlacePins)
  DocSet rejected;  // by the distinct of the federation (MergeLists)
};

struct Federation {
  std::vector<FederatedQuery> queries;
  // By uid, which is the order they are looked at.
  std::map<std::string, SearchedIndex, std::less<>> indexes;
};

// indexes  the one of each query, then the other ones of the request
// Invalid: invalid_search_distinct, where an index cannot tell hits apart by what the request says.
Result<Federation> PlanFederation(const FederatedRequest& request,
                                  std::span<index::Index* const> indexes, const CancelFlag& gone);

// Runs the queries, each from its best hit on.
// Threads: starts some of its own when there are several queries; all end before it returns.
// An error is that of the first query at fault, with its location.
Status RunQueries(Federation& federation);

// What a request says of the facets of an index.
Location LocationOfFacets(const std::string& uid);

}  // namespace gannet::search
