#include "search/federation/request.h"

#include <algorithm>
#include <utility>

namespace gannet::search {
namespace {

Result<FederatedRequest::NetworkGroups> NetworkGroupsFrom(const json::Value& object) {
  GANNET_ASSIGN_OR_RETURN(GroupBy by, GroupBy::FromJson(object));
  FederatedRequest::NetworkGroups groups{std::move(by), std::nullopt};
  if (!object["values"].is_array()) return groups;
  groups.values.emplace();
  for (const json::Value& values : object["values"].items())
    groups.values->push_back(values.Strings().value_or(std::vector<std::string>()));
  return groups;
}

}  // namespace

MergedWindow MergedWindow::Of(const PageMembers& requested) {
  const bool none = requested.numbered && requested.page == 0;
  return {requested.Positions(UINT64_MAX).begin, none ? 0 : requested.size(), requested};
}

Result<FederatedRequest> FederatedRequest::FromJson(const json::Value& object) {
  FederatedRequest request;
  const json::Value& federation = object["federation"];
  GANNET_ASSIGN_OR_RETURN(const PageMembers page, PageMembers::FromJson(federation));
  request.window = MergedWindow::Of(page);
  if (federation["distinct"].is_string()) request.distinct = federation["distinct"].string();
  if (const json::Value& group = federation["groupBy"]; group.is_object()) {
    GANNET_ASSIGN_OR_RETURN(request.group, GroupBy::FromJson(group));
  }
  if (const json::Value& groups = federation["networkGroups"]; groups.is_object()) {
    GANNET_ASSIGN_OR_RETURN(request.network_groups, NetworkGroupsFrom(groups));
  }
  for (const auto& [uid, list] : federation["facetsByIndex"].members())
    request.facets_by_index.push_back({uid, list.Strings(), list.is_string()});
  request.measures = ParseMeasures(federation["facetStats"]);
  const json::Value& merge = federation["mergeFacets"];
  if (merge.is_object()) {
    const json::Value& values_max = merge["maxValuesPerFacet"];
    request.merge_facets =
        MergeFacets{values_max.is_null() ? std::nullopt : std::optional(values_max.integer())};
  }
  for (const json::Value& query : object["queries"].items()) {
    const json::Value& options = query["federationOptions"];
    GANNET_RETURN_IF_ERROR(RequireMembers(options, "federationOptions.", {"weight"}));
    GANNET_ASSIGN_OR_RETURN(SearchRequest search, SearchRequest::FromJson(query));
    request.queries.push_back({query["indexUid"].string(), options["weight"].number(),
                               options["queryPosition"].integer(request.queries.size()),
                               std::move(search)});
  }
  request.other_indexes = object["otherIndexes"].Strings().value_or(std::vector<std::string>());
  const json::Value& first_page = object["firstPage"];
  if (!first_page.is_null()) request.first_page = first_page.integer();
  if (const json::Value& merged = object["merged"]; merged.is_string())
    request.merged = merged.string() == "here" ? Merged::kHere : Merged::kElsewhere;
  request.response_bytes_max = object["responseBytesMax"].integer(UINT64_MAX);
  request.keeps_page = request.merged_here() || object["keepsPage"].boolean();
  if (object["requestUid"].is_string()) request.request_uid = object["requestUid"].string();
  if (object["metadata"].is_array()) request.metadata = object["metadata"].text();
  return request;
}

bool FederatedRequest::has_hybrid() const {
  return std::any_of(queries.begin(), queries.end(),
                     [](const Query& query) { return query.search.kind() == SearchKind::kHybrid; });
}

uint64_t FederatedRequest::counted_hits() const {
  return has_hybrid() && !window.requested.numbered ? first_page.value_or(window.limit)
                                                    : UINT64_MAX;
}

}  // namespace gannet::search
