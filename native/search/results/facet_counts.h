// Facet distributions: how many of the candidates have each value of a field
// (docs/behaviour/facets.md).
//
// The setting `faceting` decides which values are returned, and in which order. The order by value
// needs only the first values that occur, so it walks the sorted values of the columns and stops;
// the order by count needs all of them.
// facet_counter.h chooses how to count, by segment and field.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/results/facet_measures.h"

namespace gannet::search {

struct FacetValue {
  std::string shown;  // a number in decimal notation, or an original spelling
  uint64_t count;
};

// The number of values that a server sends to a merging server if values are ordered by count: a
// value that is frequent on other servers may be rare here.
inline constexpr uint64_t kMergedFacetValues = 10'000;

struct FacetDistribution {
  std::string field;
  bool by_count = false;           // ordered by count, else by value, as in the settings
  std::vector<FacetValue> values;  // ordered, distinct, at most the number in the settings
  std::optional<std::pair<double, double>> stats;  // smallest and largest number
  MeasuredNumbers measured;
  std::vector<NumberCount> numbers;  // ascending, instead of `measured`; see CountFacets
};

// How facets are counted, and for what.
struct FacetCounting {
  // The result will be merged with those of other servers. Values ordered by count are then at
  // least kMergedFacetValues, if there are that many; numbers are those first by text and those
  // first by value.
  bool for_merging = false;
  MeasuresByName measures = {};
  bool automatic = false;      // also attributes that divide the candidates, see facet_choice.h
  bool keeps_numbers = false;  // of what is to be measured, to merge them with those of others
};

// A number as facets show it: the shortest digits that parse to the same number, never with an
// exponent.
std::string DecimalText(double number);
// Whether, with this number of candidates, numbers are ordered by their text, not by their value.
bool NumbersByText(uint64_t candidates);

// Whether each item matches a filterable attribute. Invalid: invalid_search_facets.
Status ValidateFacets(const index::Snapshot& snapshot, const std::vector<std::string>& facets);

// The distributions of all attributes that the items select, by name; if others are chosen
// automatically, the best one first. REQUIRES: candidates are live
// documents. Invalid: as ValidateFacets.
Result<std::vector<FacetDistribution>> CountFacets(const index::Snapshot& snapshot,
                                                   const std::vector<std::string>& facets,
                                                   const DocSet& candidates,
                                                   const FacetCounting& how = {});

// The names of the members with facets.
struct FacetMembers {
  const char* distribution = "facetDistribution";
  const char* stats = "facetStats";
};
inline constexpr FacetMembers kFacetsOfIndex = {"distribution", "stats"};

// Appends `"facetDistribution":{...},"facetStats":{...}`.
void AppendFacetDistributions(const std::vector<FacetDistribution>& distributions, std::string& out,
                              FacetMembers members = {});

// Counts facets and appends them.
Status AppendFacets(const index::Snapshot& snapshot, const std::vector<std::string>& facets,
                    const DocSet& candidates, std::string& out, const FacetCounting& how = {});

}  // namespace gannet::search
