// Facets of one index on several servers, counted together.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json_value.h"
#include "base/status.h"
#include "search/answer.h"
#include "search/federation/server_response.h"

namespace gannet::search {

// settings  `faceting` of the index here; null: it is not here
std::vector<FacetDistribution> MergeFacets(const std::vector<ServerResponse>& responses,
                                           std::string_view uid, const json::Value& settings);

// Appends the member that holds the facets of the indexes that `faceting` of the request names, or
// those that hold them as one, behind others. Nothing where no server has counted any.
// request  of MergeResponses
void AppendMergedFacets(const json::Value& request, const std::vector<ServerResponse>& responses,
                        std::string& out);

// The answer to a facet search of several servers.
// request  JSON of EngineFacetMergeRequest (src/search/merge-request.ts)
// Invalid: its body would be larger than the request allows.
Result<Answer> MergeFacetHits(std::string_view request,
                              std::vector<std::vector<FacetValue>>& responses);

// Appends a member of a request as it is, behind others.
void AppendRequestMember(const char* name, const json::Value& value, std::string& out);

}  // namespace gannet::search
