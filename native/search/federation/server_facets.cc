#include "search/federation/server_facets.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/json.h"
#include "search/response.h"
#include "search/results/facet_merge.h"
#include "search/results/facet_search.h"

namespace gannet::search {
namespace {

using FacetsByUid = std::map<std::string_view, std::vector<FacetDistribution>>;
using PartsByField = std::map<std::string_view, std::vector<const FacetDistribution*>>;

bool ByCount(const json::Value& settings, std::string_view field) {
  const json::Value& orders = settings["sortFacetValuesBy"];
  return (orders.Has(field) ? orders[field] : orders["*"]).string() == "count";
}

uint64_t ValuesMax(const json::Value& settings) {
  return settings["maxValuesPerFacet"].integer(UINT64_MAX);
}

void AppendByIndex(const FacetsByUid& facets, std::string& out) {
  out += ",\"facetsByIndex\":";
  char open = '{';
  for (const auto& [uid, distributions] : facets) {
    out += std::exchange(open, ',');
    AppendJsonString(out, uid);
    out += ":{";
    AppendFacetDistributions(distributions, out, kFacetsOfIndex);
    out += '}';
  }
  out += '}';
}

// Merges the facets of one index.
std::vector<FacetDistribution> MergeParts(const std::vector<const ServerFacets*>& servers,
                                          const json::Value& settings) {
  PartsByField parts;
  uint64_t candidates = 0;
  for (const ServerFacets* facets : servers) {
    const uint64_t more = facets->candidates.value_or(UINT64_MAX);
    candidates += std::min(more, UINT64_MAX - candidates);
    for (const FacetDistribution& distribution : facets->distributions)
      parts[distribution.field].push_back(&distribution);
  }
  std::vector<FacetDistribution> merged;
  for (const auto& [field, of_field] : parts) {
    FacetOrder order{ByCount(settings, field), NumbersByText(candidates), ValuesMax(settings)};
    // In the order by count, 0 means no limit.
    if (order.by_count && order.values_max == 0) order.values_max = UINT64_MAX;
    FacetDistribution& distribution = merged.emplace_back();
    distribution.field = field;
    std::vector<const std::vector<FacetValue>*> values;
    for (const FacetDistribution* part : of_field) {
      values.push_back(&part->values);
      WidenRange(part->stats, distribution.stats);
    }
    distribution.values = MergeSpellings(values, order);
  }
  return merged;
}

void AppendAsOne(const json::Value& request, FacetsByUid& facets, std::string& out) {
  const auto& indexes = request["faceting"].members();
  PartsByField parts;
  for (auto& [uid, distributions] : facets) {
    for (FacetDistribution& distribution : distributions) {
      distribution.by_count = std::any_of(indexes.begin(), indexes.end(), [&](const auto& index) {
        return facets.contains(index.first) && ByCount(index.second, distribution.field);
      });
      parts[distribution.field].push_back(&distribution);
    }
  }
  const json::Value& values_max = request["mergeFacets"]["maxValuesPerFacet"];
  std::vector<FacetDistribution> merged;
  for (const auto& [field, of_field] : parts) {
    merged.push_back(MergeDistributions(
        of_field, values_max.is_null() ? std::nullopt : std::optional(values_max.integer())));
  }
  out += ',';
  AppendFacetDistributions(merged, out);
}

}  // namespace

std::vector<FacetDistribution> MergeFacets(const std::vector<ServerResponse>& responses,
                                           std::string_view uid, const json::Value& settings) {
  std::vector<const ServerFacets*> servers;
  for (const ServerResponse& response : responses) {
    for (const ServerFacets& facets : response.facets) {
      if (facets.uid == uid) servers.push_back(&facets);
    }
  }
  return MergeParts(servers, settings);
}

void AppendMergedFacets(const json::Value& request, const std::vector<ServerResponse>& responses,
                        std::string& out) {
  std::map<std::string_view, std::vector<const ServerFacets*>> servers;  // by index
  for (const ServerResponse& response : responses) {
    for (const ServerFacets& facets : response.facets) servers[facets.uid].push_back(&facets);
  }
  FacetsByUid merged;
  for (const auto& [uid, settings] : request["faceting"].members()) {
    if (const auto parts = servers.find(uid); parts != servers.end())
      merged.emplace(uid, MergeParts(parts->second, settings));
  }
  if (merged.empty()) return;
  if (request["mergeFacets"].is_object()) {
    AppendAsOne(request, merged, out);
  } else {
    AppendByIndex(merged, out);
  }
}

Result<SearchResponse> MergeFacetHits(std::string_view request,
                                      std::vector<std::vector<FacetValue>>& responses) {
  const json::Value object = json::Value::Parse(request);
  std::vector<const std::vector<FacetValue>*> parts;
  for (const auto& values : responses) parts.push_back(&values);
  const json::Value& settings = object["faceting"];
  const FacetOrder order{ByCount(settings, object["facetName"].string()), false,
                         ValuesMax(settings)};
  std::string out = "{\"facetHits\":";
  AppendFacetHits(MergeSpellings(parts, order), out);
  for (const char* name : {"facetQuery", "processingTimeMs", "remoteErrors"})
    AppendRequestMember(name, object[name], out);
  out += '}';
  GANNET_RETURN_IF_ERROR(CheckResponseSize(out, object["responseBytesMax"].integer(UINT64_MAX)));
  SearchResponse response{std::move(out), {}};
  response.head.processing_time_ms = object["processingTimeMs"].integer();
  return response;
}

void AppendRequestMember(const char* name, const json::Value& value, std::string& out) {
  out += std::string(",\"") + name + "\":";
  out += value.is_null() ? "null" : value.text();
}

}  // namespace gannet::search
