// The queries of a federated search, their indexes, and the state that the steps of the search add.
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
  SearchRequest request;             // for all hits that merging may need; moved into `run`
  std::vector<PinnedDocument> pins;  // in order of precedence; after SortPins by position
  std::shared_ptr<const index::Snapshot> snapshot;
  Status status;                   // error of the pins or of the run
  std::unique_ptr<SearchRun> run;  // set by RunQueries
};

struct SearchedIndex {
  std::shared_ptr<const index::Snapshot> snapshot;
  std::vector<uint32_t> queries;  // empty: only its facet list is checked
  std::optional<std::vector<std::string>> facets;
  bool automatic_facets = false;
  DocSet pinned;    // pinned by any query (SortPins)
  DocSet rejected;  // rejected by the distinct attribute of the federation (MergeLists)
};

struct Federation {
  std::vector<FederatedQuery> queries;
  // By uid; indexes are processed in this order.
  std::map<std::string, SearchedIndex, std::less<>> indexes;
};

// indexes  the index of each query, then the other indexes of the request
// Invalid: invalid_search_distinct: an index does not allow the distinct attribute of the request.
Result<Federation> PlanFederation(const FederatedRequest& request,
                                  std::span<index::Index* const> indexes,
                                  const CancelFlag& cancelled);

// Runs the queries, each from its best hit on.
// Threads: starts threads of its own if there are several queries; all end before it returns.
// Returns the error of the first query that failed, with its location.
Status RunQueries(Federation& federation);

// The location, in the request, of the facet list of an index.
Location LocationOfFacets(const std::string& uid);

}  // namespace gannet::search
