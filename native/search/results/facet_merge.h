// Facets of several indexes, or of one index on several servers, as one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "search/results/facet_counts.h"

namespace gannet::search {

// One distribution out of those of several indexes for the same field: counts of equal texts are
// added, the values ordered by text or by count as the first of them wants, and at most
// `values_max` kept.
// REQUIRES: parts is not empty.
FacetDistribution MergeDistributions(const std::vector<const FacetDistribution*>& parts,
                                     std::optional<uint64_t> values_max);

// Widens a range, if there is one, so that it holds another.
void WidenRange(const std::optional<std::pair<double, double>>& other,
                std::optional<std::pair<double, double>>& range);

struct FacetOrder {
  bool by_count = false;         // the most frequent value first, else by value
  bool numbers_by_text = false;  // of the order by value
  uint64_t values_max = UINT64_MAX;
};

// Values of one attribute of one index, counted by several servers. Spellings that filters do not
// tell apart are one value, spelled as by the first server. Numbers come first.
std::vector<FacetValue> MergeSpellings(std::span<const std::vector<FacetValue>* const> parts,
                                       const FacetOrder& order);

}  // namespace gannet::search
