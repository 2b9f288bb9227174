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

// The groups of a merged list. First their best hits are merged, then the hits that servers find
// for these groups. Lifetime: the bytes of all responses live as long.
class MergedGroups {
 public:
  // request  as for MergeResponses, of the best hits; it has the member `grouping`
  static Result<std::unique_ptr<MergedGroups>> Of(std::string request,
                                                  std::vector<ServerResponse> best);
  ~MergedGroups();

  // JSON list of what finds the hits of each group, which servers are asked for.
  std::string values() const;

  // The response to the search.
  // request  as for MergeResponses, of the hits of groups
  // found    responses with these hits; empty: no server was asked
  Result<SearchResponse> Write(std::string_view request, std::vector<ServerResponse>& found);

 private:
  struct State;
  explicit MergedGroups(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace gannet::search
