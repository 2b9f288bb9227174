#include "search/federation/response.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/uuid.h"
#include "search/response.h"
#include "search/federation/distinct_values.h"
#include "search/federation/groups.h"
#include "search/federation/merge_keys.h"
#include "search/hits.h"
#include "search/page.h"
#include "search/ranking/score_details.h"

namespace gannet::search {
namespace {

// Appends the values of a hit that other servers look for in theirs.
Status AppendGroup(const FederatedRequest& request, const Federation& federation,
                   const RankedHit& hit, std::string& out) {
  const std::string& attribute = request.network_groups->by.attribute;
  const index::Snapshot& snapshot = *federation.queries[hit.query].snapshot;
  out += ",\"group\":{\"value\":";
  GANNET_RETURN_IF_ERROR(AppendShownValue(snapshot, attribute, hit.hit.docid, out));
  out += ",\"values\":[";
  bool first = true;
  for (const std::string& value : ValuesOf(snapshot, attribute, hit.hit.docid)) {
    if (!std::exchange(first, false)) out += ',';
    AppendJsonString(out, value);
  }
  out += "]}";
  return Status::Ok();
}

Status AppendPageHits(const FederatedRequest& request, const Federation& federation,
                      const std::vector<RankedHit>& hits, Page& page) {
  std::vector<std::unique_ptr<HitWriter>> writers(federation.queries.size());
  std::string source, group;
  for (const RankedHit& hit : hits) {
    const FederatedQuery& query = federation.queries[hit.query];
    std::unique_ptr<HitWriter>& writer = writers[hit.query];
    if (!writer) writer = std::make_unique<HitWriter>(*query.run);
    source.clear();
    group.clear();
    if (request.network_groups)
      GANNET_RETURN_IF_ERROR(AppendGroup(request, federation, hit, group));
    GANNET_RETURN_IF_ERROR(AppendSource(query, hit, request.for_merging(), group, source));
    GANNET_RETURN_IF_ERROR(AppendHit(request, hit, source, *writer, page));
  }
  return Status::Ok();
}

// Whether a query had to do without its vector.
bool LacksVector(const Federation& federation) {
  const auto& queries = federation.queries;
  return std::any_of(queries.begin(), queries.end(),
                     [](const FederatedQuery& query) { return query.run->lacks_vector(); });
}

Status HealthOf(const Federation& federation) {
  for (const auto& [uid, index] : federation.indexes)
    GANNET_RETURN_IF_ERROR(index.snapshot->Health());
  return Status::Ok();
}

// Appends the number of hits found by vectors, whether one was missing, and the vectors used.
void AppendVectors(const Federation& federation, const std::vector<RankedHit>& page,
                   std::string& out) {
  const auto& queries = federation.queries;
  if (std::any_of(queries.begin(), queries.end(), [](const FederatedQuery& query) {
        return query.run->semantic_hit_count().has_value();
      })) {
    const auto count = std::count_if(page.begin(), page.end(), [](const RankedHit& hit) {
      return hit.pin == nullptr && HasVector(hit.hit.detail);
    });
    AppendNumber("semanticHitCount", static_cast<uint64_t>(count), out);
  }
  AppendDegraded(LacksVector(federation), out);
  bool first = true;
  for (const FederatedQuery& query : queries) {
    if (!query.run->request().retrieve_vectors || query.run->query_vector() == nullptr) continue;
    out += std::exchange(first, false) ? ",\"queryVectors\":{\"" : ",\"";
    AppendJsonNumber(out, query.position);
    out += "\":";
    AppendJsonFloats(out, *query.run->query_vector());
  }
  if (!first) out += '}';
}

// The shortest time limit of the queries.
uint64_t CutoffMsOf(const Federation& federation) {
  uint64_t min = UINT64_MAX;
  for (const FederatedQuery& query : federation.queries)
    min = std::min(min, CutoffMs(*query.snapshot));
  return min;
}

}  // namespace

Status AppendSource(const FederatedQuery& query, const RankedHit& hit, bool for_merging,
                    std::string_view more, std::string& out) {
  out += "\"_federation\":{\"indexUid\":";
  AppendJsonString(out, query.uid);
  AppendNumber("queriesPosition", query.position, out);
  out += ",\"weightedRankingScore\":";
  AppendJsonFloat(out, hit.pin == nullptr ? hit.key->global : query.weight);
  if (for_merging) GANNET_RETURN_IF_ERROR(AppendMergeKeys(query, hit, out));
  out += more;
  out += '}';
  return Status::Ok();
}

Status AppendHit(const FederatedRequest& request, const RankedHit& hit, const std::string& source,
                 HitWriter& writer, Page& page) {
  const std::string_view written = request.merged_here() ? kSourceLeftOut : source;
  page.BeginHit();
  GANNET_RETURN_IF_ERROR(writer.Append({hit.hit, hit.pin}, written, page.text));
  if (request.merged_here()) page.sources.push_back(source.substr(kSourceName.size()));
  return page.EndHit(hit.query);
}

Result<SearchResponse> WriteFederatedResponse(const FederatedRequest& request,
                                              const Federation& federation, const MergedList& list,
                                              const FacetsByIndex& facets, const Caller& caller) {
  Page page(request.response_bytes_max);
  page.text += "{\"hits\":[";
  GANNET_RETURN_IF_ERROR(AppendPageHits(request, federation, list.page, page));
  ResponseHead& head = page.head;
  std::string& out = page.rest;
  head.total_hits = TotalOf(federation);
  AppendPage(request.window.requested, *head.total_hits, out);
  if (request.counts_values()) AppendFurtherDistinctKeys(federation, list.further, out);
  AppendVectors(federation, list.page, out);
  AppendFacets(request, facets, out);
  out += ",\"requestUid\":";
  AppendJsonString(out, request.request_uid ? *request.request_uid : MakeUuid7());
  if (!request.metadata.empty()) {
    out += ",\"metadata\":";
    out += request.metadata;
  }
  SetTimes(caller, CutoffMsOf(federation), head);
  AppendNumber("processingTimeMs", head.processing_time_ms, out);
  GANNET_RETURN_IF_ERROR(HealthOf(federation));
  return Page::Finish(std::move(page), request.keeps_page);
}

Result<SearchResponse> WriteFederatedGroups(const FederatedRequest& request,
                                            const Federation& federation, const MergedList& list,
                                            const Caller& caller) {
  Groups groups(federation, *request.group, request.response_bytes_max);
  std::string texts;
  GANNET_RETURN_IF_ERROR(groups.Append(list.page, texts));
  std::unique_ptr<Groups::Found> all;
  if (!request.facets_by_index.empty() && !request.group->facets_per_group) {
    GANNET_ASSIGN_OR_RETURN(all, groups.Candidates());
  }
  GANNET_ASSIGN_OR_RETURN(const FacetsByIndex facets,
                          CountFacets(request, all ? all->federation : federation));
  ResponseHead head;
  SetTimes(caller, CutoffMsOf(federation), head);
  head.total_hits = TotalOf(federation);
  std::string out = "{\"hits\":[]";
  AppendNumber("processingTimeMs", head.processing_time_ms, out);
  out += ",\"groups\":[" + texts + ']';
  AppendNumber("totalGroups", *head.total_hits, out);
  AppendNumber("page", request.window.requested.page, out);
  AppendNumber("limit", request.window.requested.per_page, out);
  AppendFacets(request, facets, out);
  AppendDegraded(LacksVector(federation), out);
  out += '}';
  GANNET_RETURN_IF_ERROR(CheckResponseSize(out, request.response_bytes_max));
  GANNET_RETURN_IF_ERROR(HealthOf(federation));
  return SearchResponse{std::move(out), std::move(head)};
}

Result<SearchResponse> WriteGroupMembers(const FederatedRequest& request,
                                         const Federation& federation, const Caller& caller) {
  Groups groups(federation, request.network_groups->by, request.response_bytes_max);
  Page page(request.response_bytes_max);
  std::vector<uint64_t> totals;
  page.text += "{\"hits\":[";
  GANNET_RETURN_IF_ERROR(
      groups.AppendMembers(request, *request.network_groups->values, page, totals));
  std::string& out = page.rest;
  AppendNumber("totalHits", page.hit_count(), out);
  out += ",\"groupTotals\":[";
  for (const uint64_t& total : totals) {
    if (&total != &totals[0]) out += ',';
    AppendJsonNumber(out, total);
  }
  out += ']';
  if (!request.facets_by_index.empty()) {
    GANNET_ASSIGN_OR_RETURN(const auto all, groups.Candidates());
    GANNET_ASSIGN_OR_RETURN(const FacetsByIndex facets, CountFacets(request, all->federation));
    AppendFacets(request, facets, out);
  }
  SetTimes(caller, CutoffMsOf(federation), page.head);
  AppendNumber("processingTimeMs", page.head.processing_time_ms, out);
  GANNET_RETURN_IF_ERROR(HealthOf(federation));
  return Page::Finish(std::move(page), request.keeps_page);
}

}  // namespace gannet::search
