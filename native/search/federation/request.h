// The parameters of a federated search, read from JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json_value.h"
#include "search/request.h"

namespace gannet::search {

// The part of the merged list that is wanted.
struct MergedWindow {
  static MergedWindow Of(const PageMembers& requested);

  uint64_t end() const { return limit > UINT64_MAX - offset ? UINT64_MAX : offset + limit; }
  bool Has(uint64_t position) const { return position >= offset && position < end(); }

  uint64_t offset = 0, limit = 0;
  PageMembers requested;  // as in the request
};

// JSON of EngineFederatedRequest (src/search/plan.ts).
struct FederatedRequest {
  struct Query {
    std::string uid;  // uid of its index
    double weight = 0;
    uint64_t position = 0;  // as reported
    SearchRequest search;
  };
  struct FacetList {
    std::string uid;
    std::optional<std::vector<std::string>> facets;
    bool automatic = false;  // `auto`: see SearchRequest
  };
  struct MergeFacets {
    std::optional<uint64_t> values_max;
  };

  // Groups of a list that is merged from several servers. values: those of the groups whose hits
  // are wanted, in the form of distinct_values.h; nullopt: hits are wanted with their values.
  struct NetworkGroups {
    GroupBy by;
    std::optional<std::vector<std::vector<std::string>>> values;
  };

  // Where the response is merged with those of other servers.
  enum class Merged : uint8_t {
    kNowhere,
    kElsewhere,
    kHere,  // by this process: see Page::sources
  };

  // REQUIRES: the text that the tree was read from lives as long as the request. Internal: the
  // object is incomplete.
  static Result<FederatedRequest> FromJson(const json::Value& object);

  // Whether all values of the distinct attribute are sent, so that totals of pages are exact over
  // several servers.
  bool counts_values() const { return for_merging() && window.requested.numbered; }

  bool for_merging() const { return merged != Merged::kNowhere; }
  bool merged_here() const { return merged == Merged::kHere; }

  bool has_hybrid() const;
  // The number of hits of the merged list whose duplicates lower the total.
  uint64_t counted_hits() const;

  MergedWindow window;
  std::optional<std::string> distinct;  // over all indexes
  std::optional<GroupBy> group;         // of the hits, which are distinct by its attribute
  std::optional<NetworkGroups> network_groups;
  std::vector<Query> queries;
  std::vector<std::string> other_indexes;  // only their facet lists are checked
  std::vector<FacetList> facets_by_index;
  std::optional<MergeFacets> merge_facets;
  MeasuresByName measures;  // of facets
  // The first page of the request that another server sends a part of. nullopt: as `window`.
  std::optional<uint64_t> first_page;
  Merged merged = Merged::kNowhere;
  uint64_t response_bytes_max = UINT64_MAX;
  bool keeps_page = false;  // see SearchResponse
  std::optional<std::string> request_uid;
  std::string_view metadata;  // JSON; empty: none
};

}  // namespace gannet::search
