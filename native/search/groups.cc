#include "search/groups.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "search/federation/groups.h"

namespace gannet::search {

Result<SearchResponse> WriteGroupsResponse(SearchRun run, const json::Value& request,
                                           const Caller& caller) {
  Federation federation;
  FederatedQuery& query = federation.queries.emplace_back();
  query.snapshot = run.list().snapshot;
  query.run = std::make_unique<SearchRun>(std::move(run));
  SearchedIndex& index = federation.indexes[query.uid];
  index.snapshot = query.snapshot;
  index.queries = {0};
  const SearchRun& heads = *query.run;
  const SearchRequest& wanted = heads.request();
  std::vector<RankedHit> best;
  for (const Hit& hit : heads.hits()) best.push_back({0, hit, nullptr});

  Groups groups(federation, *wanted.group, wanted.response_bytes_max);
  std::string texts, facets;
  GANNET_RETURN_IF_ERROR(groups.Append(best, texts));
  if (wanted.has_facets()) {
    std::unique_ptr<Groups::Found> all;
    if (!wanted.group->facets_per_group) {
      GANNET_ASSIGN_OR_RETURN(all, groups.Candidates());
    }
    const SearchRun& counted = all ? *all->federation.queries[0].run : heads;
    GANNET_RETURN_IF_ERROR(AppendFacetsOf(counted, facets));
  }
  ResponseHead head;
  SetTimes(caller, CutoffMs(heads.snapshot()), head);
  head.total_hits = heads.total();
  std::string out = "{";
  if (request["indexUid"].is_string()) {
    out += "\"indexUid\":";
    AppendJsonString(out, request["indexUid"].string());
    out += ',';
  }
  out += "\"hits\":[],\"query\":";
  AppendJsonString(out, wanted.q);
  AppendNumber("processingTimeMs", head.processing_time_ms, out);
  out += ",\"groups\":[" + texts + ']';
  AppendNumber("totalGroups", *head.total_hits, out);
  AppendNumber("page", wanted.page.page, out);
  AppendNumber("limit", wanted.page.per_page, out);
  out += facets;
  AppendDegraded(heads.lacks_vector(), out);
  out += '}';
  GANNET_RETURN_IF_ERROR(CheckResponseSize(out, wanted.response_bytes_max));
  GANNET_RETURN_IF_ERROR(heads.snapshot().Health());
  return SearchResponse{std::move(out), std::move(head)};
}

}  // namespace gannet::search
