// Totals and facets of a federated search: what the queries on an index have found together
// (docs/behaviour/facets.md).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "search/federation/federation.h"
#include "search/federation/request.h"
#include "search/results/facet_counts.h"

namespace gannet::search {

// The documents that count, of all indexes. REQUIRES: the lists are merged.
uint64_t TotalOf(const Federation& federation);

struct IndexFacets {
  std::vector<FacetDistribution> distributions;
  uint64_t candidate_count = 0;  // that they are of
};
// By uid: of the indexes that are searched, as far as facets were asked for.
using FacetsByIndex = std::map<std::string, IndexFacets, std::less<>>;

// REQUIRES: the lists are merged.
// Invalid, with the index in front of the message: as search::CountFacets, also of lists for
// indexes that no query searches; invalid_multi_search_facet_order, where facets of several indexes
// are to be one and cannot.
Result<FacetsByIndex> CountFacets(const FederatedRequest& request, const Federation& federation);

// Appends the members that hold them, behind others.
void AppendFacets(const FederatedRequest& request, const FacetsByIndex& facets, std::string& out);

}  // namespace gannet::search
