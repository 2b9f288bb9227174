// Responses of the servers of a network as one (docs/behaviour/network.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "search/answer.h"
#include "search/federation/server_response.h"

namespace gannet::search {

// The answer to a federated search, a search or a search for similar documents of several servers.
// request    JSON of EngineMergeRequest (src/search/merge-request.ts); its servers belong to the
//            responses. Of servers with equal hits the earlier one's come first.
// responses  used up; each list of hits is in order
// Invalid: its body would be larger than the request allows.
Result<Answer> MergeResponses(std::string_view request, std::vector<ServerResponse>& responses);

}  // namespace gannet::search
