// The body of the response to a federated search.
#pragma once

#include "base/status.h"
#include "search/caller.h"
#include "search/federation/facets.h"
#include "search/federation/federation.h"
#include "search/federation/merge.h"
#include "search/federation/request.h"

namespace gannet::search {

// Corruption: a stored document is damaged. Invalid, bad_request: the body would be larger than the
// request allows.
Result<SearchResponse> WriteFederatedResponse(const FederatedRequest& request,
                                              const Federation& federation, const MergedList& list,
                                              const FacetsByIndex& facets, const Caller& caller);

// The same with groups. list: the best hits, which are distinct by the attribute.
// Invalid: also as CountFacets.
Result<SearchResponse> WriteFederatedGroups(const FederatedRequest& request,
                                            const Federation& federation, const MergedList& list,
                                            const Caller& caller);

// Appends the member `_federation` of a hit. Corruption: a stored document is damaged.
Status AppendSource(const FederatedQuery& query, const RankedHit& hit, bool for_merging,
                    std::string& out);

}  // namespace gannet::search
