#include "search/federation/facets.h"

#include <string_view>
#include <utility>

#include "base/json.h"
#include "search/response.h"
#include "search/results/facet_merge.h"

namespace gannet::search {
namespace {

// Facets to be merged must have the same order.
Status CheckOrders(const FacetsByIndex& facets) {
  struct Known {
    bool by_count;
    std::string_view uid;
  };
  std::map<std::string_view, Known> orders;  // by field
  for (const auto& [uid, of_index] : facets) {
    for (const FacetDistribution& distribution : of_index.distributions) {
      const auto [known, added] =
          orders.try_emplace(distribution.field, Known{distribution.by_count, uid});
      if (added || known->second.by_count == distribution.by_count) continue;
      const auto name = [](bool by_count) { return by_count ? "`count`" : "`alpha`"; };
      const std::string message =
          "The values of the facet `" + distribution.field + "` are ordered by " +
          name(distribution.by_count) + " in the index `" + uid + "`, but by " +
          name(known->second.by_count) + " in the index `" + std::string(known->second.uid) +
          "`. Give both the same order in `faceting.sortFacetValuesBy`, leave the facet out of " +
          "one of them, or remove `federation.mergeFacets`.";
      return Status::Invalid(message, "invalid_multi_search_facet_order").At(LocationOfFacets(uid));
    }
  }
  return Status::Ok();
}

// The maximum number of different numbers, summed over indexes, of which percentiles and histograms
// are merged.
constexpr uint64_t kKeptNumbersMax = 4'000'000;

Status TooManyNumbers(const std::string& uid) {
  const std::string message = "The indexes have more than " + std::to_string(kKeptNumbersMax) +
                              " numbers to merge; leave out `facetStats` or `mergeFacets`.";
  return Status::Invalid(message, "invalid_search_facet_stats").At(LocationOfFacets(uid));
}

void AppendByIndex(const FacetsByIndex& facets, bool for_merging, std::string& out) {
  out += ",\"facetsByIndex\":";
  char open = '{';
  for (const auto& [uid, of_index] : facets) {
    out += std::exchange(open, ',');
    AppendJsonString(out, uid);
    out += ":{";
    AppendFacetDistributions(of_index.distributions, out, kFacetsOfIndex);
    if (for_merging) AppendNumber("candidates", of_index.candidate_count, out);
    out += '}';
  }
  out += '}';
}

void AppendMerged(const FacetsByIndex& facets, const FederatedRequest& request, std::string& out) {
  std::map<std::string_view, std::vector<const FacetDistribution*>> parts;  // by field
  for (const auto& [uid, of_index] : facets) {
    for (const FacetDistribution& distribution : of_index.distributions)
      parts[distribution.field].push_back(&distribution);
  }
  std::vector<FacetDistribution> merged;
  for (const auto& [field, of_field] : parts)
    merged.push_back(
        MergeDistributions(of_field, request.merge_facets->values_max, request.measures));
  out += ',';
  AppendFacetDistributions(merged, out);
}

}  // namespace

DocSet CandidatesOf(const SearchedIndex& index, const Federation& federation) {
  std::vector<const DocSet*> sets;
  for (const uint32_t number : index.queries)
    sets.push_back(&federation.queries[number].run->candidates());
  DocSet candidates = DocSet::Union(sets);
  if (!index.rejected.empty()) candidates -= index.rejected;
  if (!index.pinned.empty()) candidates = candidates | index.pinned;
  return candidates;
}

uint64_t TotalOf(const Federation& federation) {
  uint64_t total = 0;
  for (const auto& [uid, index] : federation.indexes) {
    const bool plain = index.queries.size() == 1 && index.rejected.empty() && index.pinned.empty();
    total += plain ? federation.queries[index.queries[0]].run->candidates().size()
                   : CandidatesOf(index, federation).size();
  }
  return total;
}

Result<FacetsByIndex> CountFacets(const FederatedRequest& request, const Federation& federation) {
  FacetsByIndex facets;
  uint64_t kept = 0;  // numbers
  for (const bool searched : {true, false}) {
    for (const auto& [uid, index] : federation.indexes) {
      if (!index.facets || index.queries.empty() == searched) continue;
      IndexFacets& of_index = facets[uid];
      if (index.facets->empty() && !index.automatic_facets) continue;
      const DocSet candidates = CandidatesOf(index, federation);
      of_index.candidate_count = candidates.size();
      auto distributions = CountFacets(*index.snapshot, *index.facets, candidates,
                                       {.for_merging = request.for_merging(),
                                        .measures = request.measures,
                                        .automatic = index.automatic_facets,
                                        .keeps_numbers = request.merge_facets.has_value()});
      if (!distributions.ok()) {
        const Status& status = distributions.status();
        const char* note = searched ? "" : " (No query searches this index.)";
        return Status(status.code(), status.message() + note, status.detail())
            .At(LocationOfFacets(uid));
      }
      of_index.distributions = std::move(*distributions);
      for (const FacetDistribution& distribution : of_index.distributions)
        kept += distribution.numbers.size();
      if (kept > kKeptNumbersMax) return TooManyNumbers(uid);
    }
  }
  if (request.merge_facets) GANNET_RETURN_IF_ERROR(CheckOrders(facets));
  std::erase_if(facets, [&](const auto& entry) {
    return federation.indexes.find(entry.first)->second.queries.empty();
  });
  return facets;
}

void AppendFacets(const FederatedRequest& request, const FacetsByIndex& facets, std::string& out) {
  if (facets.empty()) return;
  if (request.merge_facets) {
    AppendMerged(facets, request, out);
  } else {
    AppendByIndex(facets, request.for_merging(), out);
  }
}

}  // namespace gannet::search
