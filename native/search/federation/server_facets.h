// Merging the facets of one index over several servers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_value.h"
#include "base/status.h"
#include "search/response.h"
#include "search/federation/server_response.h"

namespace gannet::search {

// settings  `faceting` of the index on this server; null: this server does not have it
std::vector<FacetDistribution> MergeFacets(const std::vector<ServerResponse>& responses,
                                           std::string_view uid, const json::Value& settings);

// Appends the member with the facets of the indexes that `faceting` of the request names, or with
// the facets merged into one; other members precede it. Appends nothing if no server has counted
// any.
// request  as for MergeResponses
void AppendMergedFacets(const json::Value& request, const std::vector<ServerResponse>& responses,
                        std::string& out);

// The response to a facet search over several servers.
// request  JSON of EngineFacetMergeRequest (src/search/merge-request.ts)
// Invalid: the body would be larger than the request allows.
Result<SearchResponse> MergeFacetHits(std::string_view request,
                                      std::vector<std::vector<FacetValue>>& responses);

// Appends a member of a request unchanged; other members precede it.
void AppendRequestMember(const char* name, const json::Value& value, std::string& out);

}  // namespace gannet::search
