#include "search/response.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/stage_clock.h"
#include "base/stop_point.h"
#include "search/hits.h"
#include "search/page.h"
#include "search/ranking/score_details.h"
#include "search/results/facet_counts.h"
#include "search/results/facet_search.h"
#include "search/results/projection.h"
#include "segment/rows.h"

namespace gannet::search {
namespace {

// The number of hits of the page found by vectors; nullopt: see SearchRun.
std::optional<uint64_t> SemanticHitCount(const SearchRun& run, const std::vector<PageHit>& page,
                                         bool has_pins) {
  const std::optional<uint64_t> count = run.semantic_hit_count();
  if (!count || !has_pins) return count;
  // The run has counted hits from the first position on, whatever the page shows.
  const bool all = run.request().kind() == SearchKind::kSemantic;
  return static_cast<uint64_t>(std::count_if(page.begin(), page.end(), [&](const PageHit& one) {
    return one.pin == nullptr && (all || HasVector(one.hit.detail));
  }));
}

// Appends the documents of the first hits; see ResponseHead.
Status AppendSources(const SearchRun& run, const std::vector<PageHit>& page, std::string& out) {
  const index::Snapshot& snapshot = run.snapshot();
  const Projection projection = Projection::ForDocuments(std::nullopt, *snapshot.fields);
  segment::RowCodec codec(snapshot.dictionary);
  std::vector<segment::RowField> fields;
  out += '[';
  for (size_t i = 0; i < std::min<uint64_t>(page.size(), run.request().reranked); ++i) {
    StopPoint();
    GANNET_ASSIGN_OR_RETURN(const std::string_view row,
                            codec.Expand(snapshot.FindRow(page[i].hit.docid)));
    if (!segment::ParseRow(row, fields)) return Status::Corruption("a stored document is damaged");
    out += i == 0 ? "{\"id\":" : ",{\"id\":";
    AppendJsonNumber(out, uint64_t{i});
    out += ",\"doc\":{";
    bool first = true;
    AppendProjected(fields, *snapshot.fields, projection, first, out);
    out += "},\"want\":[[0,1,[]]]}";
    GANNET_RETURN_IF_ERROR(CheckResponseSize(out, run.request().response_bytes_max));
  }
  out += ']';
  return Status::Ok();
}

}  // namespace

Status CheckResponseSize(const std::string& out, uint64_t bytes_max) {
  if (out.size() <= bytes_max) return Status::Ok();
  return Status::Invalid("The response would be larger than the limit of " +
                             std::to_string(bytes_max) +
                             " bytes; ask for fewer hits, attributes or facets.",
                         "bad_request");
}

void SetTimes(const Caller& caller, uint64_t cutoff_ms, ResponseHead& head) {
  head.processing_time_ms = caller.elapsed_ms();
  head.degraded = head.processing_time_ms >= cutoff_ms;
}

Status AppendHits(const SearchRun& run, const std::vector<PageHit>& hits, Page& page) {
  if (hits.empty()) return Status::Ok();
  InStage stage("hits");
  const size_t begin = page.text.size();
  HitWriter writer(run);
  for (const PageHit& hit : hits) {
    page.BeginHit();
    GANNET_RETURN_IF_ERROR(writer.Append(hit, {}, page.text));
    GANNET_RETURN_IF_ERROR(page.EndHit(0, hit.pin != nullptr));
  }
  stage.Count("bytes", page.text.size() - begin);
  return Status::Ok();
}

Status AppendFacetsOf(const SearchRun& run, std::string& out) {
  const SearchRequest& request = run.request();
  if (!request.has_facets()) return Status::Ok();
  InStage stage("facets");
  out += ',';
  DocSet counted = run.candidates();
  if (request.pinned) counted = counted | *request.pinned;
  stage.Count("documents", counted.size());
  return AppendFacets(run.snapshot(), request.facets, counted, out,
                      {.measures = request.measures, .automatic = request.automatic_facets});
}

Result<SearchResponse> WriteSearchResponse(const SearchRun& run, const std::vector<PageHit>& hits,
                                           size_t pin_count, const json::Value& request,
                                           const Caller& caller) {
  const SearchRequest& wanted = run.request();
  Page page(wanted.response_bytes_max);
  ResponseHead& head = page.head;
  page.text += '{';
  if (request["indexUid"].is_string()) {
    page.text += "\"indexUid\":";
    AppendJsonString(page.text, request["indexUid"].string());
    page.text += ',';
  }
  page.text += "\"hits\":[";
  GANNET_RETURN_IF_ERROR(AppendHits(run, hits, page));
  const bool reranks = wanted.reranked > 0;
  if (reranks && hits.size() > 1) GANNET_RETURN_IF_ERROR(AppendSources(run, hits, head.sources));
  std::string& out = page.rest;
  out += ",\"query\":";
  AppendJsonString(out, wanted.q);
  if (wanted.retrieve_vectors && run.query_vector() != nullptr) {
    out += ",\"queryVector\":";
    AppendJsonFloats(out, *run.query_vector());
  }
  const uint64_t total_max = run.snapshot().settings->max_total_hits;
  head.total_hits = std::min(run.total() + pin_count, total_max);
  SetTimes(caller, CutoffMs(run.snapshot()), head);
  AppendNumber("processingTimeMs", head.processing_time_ms, out);
  AppendPage(wanted.page, *head.total_hits, out);
  if (const auto count = SemanticHitCount(run, hits, pin_count > 0))
    AppendNumber("semanticHitCount", *count, out);
  if (reranks) {
    page.Choose(wanted.page.Positions(total_max), run.lacks_vector());
  } else {
    AppendDegraded(run.lacks_vector(), out);
  }
  GANNET_RETURN_IF_ERROR(AppendFacetsOf(run, out));
  for (const auto& [name, value] : request.members()) {
    if (name != "requestUid" && name != "metadata") continue;
    out += ",\"" + name + "\":";
    out += value.text();
  }
  GANNET_RETURN_IF_ERROR(run.snapshot().Health());
  return Page::Finish(std::move(page), wanted.keeps_page);
}

Result<SearchResponse> WriteFacetSearchResponse(const SearchRun& run, const json::Value& request,
                                                const Caller& caller) {
  const std::optional<std::string> query = request["facetQuery"].is_string()
                                               ? std::optional(request["facetQuery"].string())
                                               : std::nullopt;
  const std::optional<uint64_t> top = request["mostFrequent"].is_null()
                                          ? std::nullopt
                                          : std::optional(request["mostFrequent"].integer(0));
  InStage stage("facets");
  std::string out = "{\"facetHits\":";
  GANNET_ASSIGN_OR_RETURN(
      const auto hits,
      SearchFacet(run.snapshot(), request["facetName"].string(), query, run.candidates(),
                  run.request().locales, request["merged"].is_string(), top));
  AppendFacetHits(hits, out);
  out += ",\"facetQuery\":";
  if (query) {
    AppendJsonString(out, *query);
  } else {
    out += "null";
  }
  ResponseHead head;
  SetTimes(caller, CutoffMs(run.snapshot()), head);
  AppendNumber("processingTimeMs", head.processing_time_ms, out);
  AppendDegraded(run.lacks_vector(), out);
  out += '}';
  GANNET_RETURN_IF_ERROR(CheckResponseSize(out, run.request().response_bytes_max));
  GANNET_RETURN_IF_ERROR(run.snapshot().Health());
  return SearchResponse{std::move(out), std::move(head)};
}

void AppendPage(const PageMembers& page, uint64_t total, std::string& out) {
  if (!page.numbered) {
    AppendNumber("limit", page.limit, out);
    AppendNumber("offset", page.offset, out);
    AppendNumber("estimatedTotalHits", total, out);
    return;
  }
  const uint64_t per_page = page.per_page;
  AppendNumber("hitsPerPage", per_page, out);
  AppendNumber("page", page.page, out);
  AppendNumber("totalPages", per_page == 0 ? 0 : total / per_page + (total % per_page != 0), out);
  AppendNumber("totalHits", total, out);
}

void AppendDegraded(bool lacks_vector, std::string& out) {
  if (lacks_vector) out += R"(,"degraded":["embedding"])";
}

void AppendNumber(const char* name, uint64_t value, std::string& out) {
  out += ",\"";
  out += name;
  out += "\":";
  AppendJsonNumber(out, value);
}

}  // namespace gannet::search
