// Merges the responses of the servers of a network into one (docs/behaviour/network.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "search/response.h"
#include "search/federation/server_response.h"

namespace gannet::search {

// The response to a federated search, a search, or a search for similar documents over several
// servers.
// request    JSON of EngineMergeRequest (src/search/merge-request.ts); its servers are in the order
//            of `responses`. Of equal hits, those of the earlier server come first.
// responses  consumed; each list of hits is in order
// Invalid: the body would be larger than the request allows.
Result<SearchResponse> MergeResponses(std::string_view request,
                                      std::vector<ServerResponse>& responses);

}  // namespace gannet::search
