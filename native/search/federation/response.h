// The body of the response to a federated search.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "search/caller.h"
#include "search/federation/facets.h"
#include "search/federation/federation.h"
#include "search/federation/merge.h"
#include "search/federation/request.h"
#include "search/hits.h"
#include "search/page.h"

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

// The same with the hits of groups that another server has chosen.
Result<SearchResponse> WriteGroupMembers(const FederatedRequest& request,
                                         const Federation& federation, const Caller& caller);

// Appends the member `_federation` of a hit. Corruption: a stored document is damaged.
// more  further members of it, each with a comma before it
Status AppendSource(const FederatedQuery& query, const RankedHit& hit, bool for_merging,
                    std::string_view more, std::string& out);

// Appends a hit with that member to a page. Corruption: a stored document is damaged. Invalid: as
// CheckResponseSize.
Status AppendHit(const FederatedRequest& request, const RankedHit& hit, const std::string& source,
                 HitWriter& writer, Page& page);

}  // namespace gannet::search
