// Totals and facets of a federated search: those of the documents that the queries on an index have
// found together (docs/behaviour/facets.md).
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

// The documents of an index that count; empty if no query searches it. REQUIRES: as TotalOf.
DocSet CandidatesOf(const SearchedIndex& index, const Federation& federation);

// The number of documents that count, over all indexes. REQUIRES: the lists are merged.
uint64_t TotalOf(const Federation& federation);

struct IndexFacets {
  std::vector<FacetDistribution> distributions;
  uint64_t candidate_count = 0;  // number of documents counted
};
// By uid: the facets of the searched indexes, if facets were requested.
using FacetsByIndex = std::map<std::string, IndexFacets, std::less<>>;

// REQUIRES: the lists are merged.
// Invalid, with the index in front of the message: as search::CountFacets, also for facet lists of
// indexes that no query searches; invalid_multi_search_facet_order: the facets of several indexes
// are to be merged and cannot be.
Result<FacetsByIndex> CountFacets(const FederatedRequest& request, const Federation& federation);

// Appends the members with the facets; other members precede them.
void AppendFacets(const FederatedRequest& request, const FacetsByIndex& facets, std::string& out);

}  // namespace gannet::search
