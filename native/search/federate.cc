#include "search/federate.h"

#include <memory>
#include <vector>

#include "base/json_value.h"
#include "base/stage_clock.h"
#include "search/federation/response.h"
#include "search/federation/comparable_rules.h"
#include "search/federation/facets.h"
#include "search/federation/federation.h"
#include "search/federation/merge.h"
#include "search/federation/request.h"

namespace gannet::search {

Result<SearchResponse> ExecuteFederatedSearch(std::span<index::Index* const> indexes,
                                              std::string_view request_json, const Caller& caller) {
  InStage stage("parse");
  const json::Value object = json::Value::Parse(request_json);
  GANNET_ASSIGN_OR_RETURN(const FederatedRequest request, FederatedRequest::FromJson(object));
  GANNET_ASSIGN_OR_RETURN(Federation federation,
                          PlanFederation(request, indexes, caller.cancelled));
  GANNET_RETURN_IF_ERROR(CheckRules(federation));
  const std::vector<RankedHit> pins = SortPins(federation);
  InStage query_stage("queries");
  GANNET_RETURN_IF_ERROR(RunQueries(federation));
  if (request.network_groups && request.network_groups->values)
    return WriteGroupMembers(request, federation, caller);
  InStage merge_stage("merge");
  const std::unique_ptr<MergedList> list = MergeLists(request, pins, federation);
  if (request.group) return WriteFederatedGroups(request, federation, *list, caller);
  InStage facet_stage("facets");
  GANNET_ASSIGN_OR_RETURN(const FacetsByIndex facets, CountFacets(request, federation));
  InStage write_stage("write");
  return WriteFederatedResponse(request, federation, *list, facets, caller);
}

}  // namespace gannet::search
