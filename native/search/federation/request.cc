#include "search/federation/request.h"

#include <algorithm>

namespace gannet::search {
namespace {

FederatedRequest::NetworkGroups NetworkGroupsFrom(const json::Value& object) {
  FederatedRequest::NetworkGroups groups{GroupBy::FromJson(object), std::nullopt};
  if (!object["values"].is_array()) return groups;
  groups.values.emplace();
  for (const json::Value& values : object["values"].items())
    groups.values->push_back(values.Strings().value_or(std::vector<std::string>()));
  return groups;
}

}  // namespace

MergedWindow MergedWindow::FromJson(const json::Value& federation) {
  MergedWindow window;
  const json::Value &page = federation["page"], &per_page = federation["hitsPerPage"];
  PageMembers& requested = window.requested;
  requested.numbered = !page.is_null() || !per_page.is_null();
  if (!requested.numbered) {
    requested.offset = window.offset = federation["offset"].integer(requested.offset);
    requested.limit = window.limit = federation["limit"].integer(requested.limit);
    return window;
  }
  requested.page = page.integer(requested.page);
  requested.per_page = per_page.integer(requested.per_page);
  window.limit = requested.page == 0 ? 0 : requested.per_page;
  const uint64_t before = requested.page == 0 ? 0 : requested.page - 1;
  // Pages far after the end must not overflow.
  window.offset = requested.per_page != 0 && before > UINT64_MAX / requested.per_page
                      ? UINT64_MAX
                      : before * requested.per_page;
  return window;
}

FederatedRequest FederatedRequest::FromJson(const json::Value& object) {
  FederatedRequest request;
  const json::Value& federation = object["federation"];
  request.window = MergedWindow::FromJson(federation);
  if (federation["distinct"].is_string()) request.distinct = federation["distinct"].string();
  if (federation["groupBy"].is_object()) request.group = GroupBy::FromJson(federation["groupBy"]);
  if (federation["networkGroups"].is_object())
    request.network_groups = NetworkGroupsFrom(federation["networkGroups"]);
  for (const auto& [uid, list] : federation["facetsByIndex"].members())
    request.facets_by_index.push_back({uid, list.Strings()});
  const json::Value& merge = federation["mergeFacets"];
  if (merge.is_object()) {
    const json::Value& values_max = merge["maxValuesPerFacet"];
    request.merge_facets =
        MergeFacets{values_max.is_null() ? std::nullopt : std::optional(values_max.integer())};
  }
  for (const json::Value& query : object["queries"].items()) {
    const json::Value& options = query["federationOptions"];
    request.queries.push_back({query["indexUid"].string(), options["weight"].number(1),
                               options["queryPosition"].integer(request.queries.size()),
                               SearchRequest::FromJson(query)});
  }
  request.other_indexes = object["otherIndexes"].Strings().value_or(std::vector<std::string>());
  const json::Value& first_page = object["firstPage"];
  if (!first_page.is_null()) request.first_page = first_page.integer();
  request.merged_here = object["mergedHere"].boolean(false);
  request.for_merging = request.merged_here || object["forMerging"].boolean(false);
  request.response_bytes_max = object["responseBytesMax"].integer(UINT64_MAX);
  request.keeps_page = request.merged_here || object["keepsPage"].boolean();
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
