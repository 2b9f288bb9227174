#include "search/results/facet_merge.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/stop_point.h"
#include "text/normalize.h"

namespace gannet::search {
namespace {

// A value with its sort key.
struct KeyedValue {
  std::string_view key;  // in facet form
  std::optional<double> number;
  FacetValue shown;
};

// The number that a value shows; nullopt if the text is not a number as facets show it.
std::optional<double> ShownNumber(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number))
    return std::nullopt;
  return DecimalText(number) == text ? std::optional(number) : std::nullopt;
}

// Measures the numbers of all parts.
void Measure(const std::vector<const FacetDistribution*>& parts, const FacetMeasures& wanted,
             FacetDistribution& merged) {
  std::vector<NumberCount> numbers;
  uint64_t total = 0;
  for (const FacetDistribution* part : parts) {
    numbers.insert(numbers.end(), part->numbers.begin(), part->numbers.end());
    for (const NumberCount& one : part->numbers) total += one.count;
  }
  StopCounter steps;
  std::sort(numbers.begin(), numbers.end(), [&](const NumberCount& a, const NumberCount& b) {
    steps.Step();
    return a.number < b.number;
  });
  NumberMeter meter(wanted, *merged.stats, total);
  for (const NumberCount& one : numbers) meter.Add(one);
  merged.measured = std::move(meter.measured());
}

bool ValueBefore(const KeyedValue& a, const KeyedValue& b, bool by_text) {
  if (a.number.has_value() != b.number.has_value()) return a.number.has_value();
  return a.number && !by_text ? *a.number < *b.number : a.key < b.key;
}

}  // namespace

FacetDistribution MergeDistributions(const std::vector<const FacetDistribution*>& parts,
                                     std::optional<uint64_t> values_max,
                                     const MeasuresByName& measures) {
  FacetDistribution merged;
  merged.field = parts[0]->field;
  merged.by_count = parts[0]->by_count;
  std::map<std::string_view, uint64_t> counts;
  for (const FacetDistribution* part : parts) {
    for (const FacetValue& value : part->values) counts[value.shown] += value.count;
    WidenRange(part->stats, merged.stats);
  }
  for (const auto& [shown, count] : counts) merged.values.push_back({std::string(shown), count});
  if (merged.by_count) {
    std::stable_sort(merged.values.begin(), merged.values.end(),
                     [](const auto& a, const auto& b) { return a.count > b.count; });
  }
  if (values_max && merged.values.size() > *values_max) merged.values.resize(*values_max);
  const auto wanted = measures.find(merged.field);
  if (merged.stats && wanted != measures.end()) Measure(parts, wanted->second, merged);
  return merged;
}

void WidenRange(const std::optional<std::pair<double, double>>& other,
                std::optional<std::pair<double, double>>& range) {
  if (!other) return;
  if (!range) range = other;
  range = {std::min(range->first, other->first), std::max(range->second, other->second)};
}

std::vector<FacetValue> MergeSpellings(std::span<const std::vector<FacetValue>* const> parts,
                                       const FacetOrder& order) {
  std::map<std::string, FacetValue, std::less<>> counts;  // by facet form
  std::string key;
  for (const std::vector<FacetValue>* part : parts) {
    for (const FacetValue& value : *part) {
      text::NormalizeFacet(value.shown, key);
      const auto [known, added] = counts.try_emplace(key, value);
      if (!added) known->second.count += value.count;
    }
  }
  std::vector<KeyedValue> values;
  values.reserve(counts.size());
  for (auto& [form, value] : counts) values.push_back({form, ShownNumber(form), std::move(value)});
  std::sort(values.begin(), values.end(), [&](const KeyedValue& a, const KeyedValue& b) {
    if (!order.by_count) return ValueBefore(a, b, order.numbers_by_text);
    if (a.number.has_value() != b.number.has_value()) return a.number.has_value();
    return a.shown.count != b.shown.count ? a.shown.count > b.shown.count
                                          : ValueBefore(b, a, false);
  });
  std::vector<FacetValue> merged;
  for (KeyedValue& value : values) {
    if (merged.size() >= order.values_max) break;
    merged.push_back(std::move(value.shown));
  }
  return merged;
}

}  // namespace gannet::search
