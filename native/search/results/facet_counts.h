// Facet distributions: how many of the candidates have each value of a field
// (docs/behaviour/facets.md).
//
// Which values and in which order is decided by `faceting` of the settings. The order by value
// needs only the first values that occur, so it walks the sorted values of the columns and stops;
// the order by count needs all of them.
// How a value is counted is chosen per segment and field (see facet_counter.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"

namespace gannet::search {

struct FacetValue {
  std::string shown;  // a number in decimal notation, or an original spelling
  uint64_t count;
};

// Values of a facet ordered by count that are told to a server that merges: what is frequent
// elsewhere may be rare here.
inline constexpr uint64_t kMergedFacetValues = 10'000;

struct FacetDistribution {
  std::string field;
  bool by_count = false;           // the order the settings want
  std::vector<FacetValue> values;  // in that order, distinct, as many as the settings allow
  std::optional<std::pair<double, double>> stats;  // least and greatest number
};

// A number as a facet shows it: the shortest digits that read back to it, never with an exponent.
std::string DecimalText(double number);
// Whether the numbers that so many candidates have are ordered by their text, not by their value.
bool NumbersByText(uint64_t candidates);

// Whether each item matches a filterable attribute. Invalid: invalid_search_facets.
Status ValidateFacets(const index::Snapshot& snapshot, const std::vector<std::string>& facets);

// The distributions of all attributes that the items select, by name. REQUIRES: candidates are live
// documents. for_merging: they will be added to those of other servers. Where values come by count
// there are kMergedFacetValues at least; of numbers those that come first by text and those that
// come first by value.
// Invalid: as ValidateFacets.
Result<std::vector<FacetDistribution>> CountFacets(const index::Snapshot& snapshot,
                                                   const std::vector<std::string>& facets,
                                                   const DocSet& candidates,
                                                   bool for_merging = false);

// What the members are called that hold facets.
struct FacetMembers {
  const char* distribution = "facetDistribution";
  const char* stats = "facetStats";
};
inline constexpr FacetMembers kFacetsOfIndex = {"distribution", "stats"};

// Appends `"facetDistribution":{...},"facetStats":{...}`.
void AppendFacetDistributions(const std::vector<FacetDistribution>& distributions, std::string& out,
                              FacetMembers members = {});

// Both in one.
Status AppendFacets(const index::Snapshot& snapshot, const std::vector<std::string>& facets,
                    const DocSet& candidates, std::string& out);

}  // namespace gannet::search
