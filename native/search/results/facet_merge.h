// Merging the facets of several indexes, or of one index on several servers.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "search/results/facet_counts.h"

namespace gannet::search {

// Merges the distributions of several indexes for the same field: adds the counts of equal texts,
// orders the values by text or by count as in the first part, and keeps at most `values_max`.
// measures: what to measure of the numbers that the parts keep. REQUIRES: parts is not empty.
FacetDistribution MergeDistributions(const std::vector<const FacetDistribution*>& parts,
                                     std::optional<uint64_t> values_max,
                                     const MeasuresByName& measures = {});

// Extends `range` so that it contains `other`, if there is one.
void WidenRange(const std::optional<std::pair<double, double>>& other,
                std::optional<std::pair<double, double>>& range);

struct FacetOrder {
  bool by_count = false;         // the most frequent value first, else by value
  bool numbers_by_text = false;  // in the order by value
  uint64_t values_max = UINT64_MAX;
};

// Merges values of one attribute of one index, counted by several servers. Spellings that filters
// do not distinguish are one value, with the spelling of the first server. Numbers come first.
std::vector<FacetValue> MergeSpellings(std::span<const std::vector<FacetValue>* const> parts,
                                       const FacetOrder& order);

}  // namespace gannet::search
