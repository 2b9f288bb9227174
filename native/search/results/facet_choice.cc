#include "search/results/facet_choice.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "base/stop_point.h"
#include "bitmap/postings_codec.h"

namespace gannet::search {
namespace {

// How an attribute divides candidates.
struct Division {
  uint64_t documents = 0;  // with a value
  uint64_t values = 0;
  uint64_t occurrences = 0;  // a document counts once for each of its values
  uint64_t greatest = 0;     // count of a value
  bool has_strings = false;

  bool Divides(uint64_t candidates) const {
    constexpr uint64_t kShareMax = 5;        // at least a fifth of the candidates has a value
    constexpr uint64_t kDifferentMax = 100;  // more strings must each occur twice on average
    if (documents * kShareMax < candidates || values < 2 || greatest == candidates) return false;
    // Numbers make ranges, whether or not they repeat.
    if (!has_strings) return true;
    return occurrences > values && (values <= kDifferentMax || occurrences >= 2 * values);
  }
};

Division DivisionOf(FieldCounter& counter) {
  Division division;
  StopCounter steps;
  const auto add = [&](const FieldCounter::Value& value) {
    steps.Step(8);
    ++division.values;
    division.occurrences += value.count;
    division.greatest = std::max(division.greatest, value.count);
    division.has_strings = division.has_strings || !value.is_number;
    return true;
  };
  counter.ForEachNumber(add);
  counter.ForEachString(add);
  for (const SegmentCounter& segment : counter.segments()) {
    DocSet valued;
    IntersectPostings(segment.column().valued_bytes(), segment.group().documents, valued);
    division.documents += valued.size();
  }
  return division;
}

}  // namespace

ChoosableFacets::ChoosableFacets(const index::Snapshot& snapshot)
    : snapshot_(snapshot),
      displayed_(
          Projection::ForSearch(std::nullopt, snapshot.settings->displayed, *snapshot.fields)) {}

bool ChoosableFacets::Contains(std::string_view name) const {
  if (name == snapshot_.primary_key || name.starts_with("_geo")) return false;
  for (size_t end = name.find('.'); end != std::string_view::npos; end = name.find('.', end + 1)) {
    if (displayed_.Of(name.substr(0, end)) == Cover::kWhole) return true;
  }
  return displayed_.Of(name) == Cover::kWhole;
}

std::vector<size_t> ChooseFacets(std::span<const FacetToChoose> facets,
                                 std::span<FieldCounter> counters, uint64_t candidates) {
  struct Candidate {
    size_t number;
    Division division;
  };
  std::vector<Candidate> ordered;
  for (size_t i = 0; i < facets.size(); ++i) ordered.push_back({i, DivisionOf(counters[i])});
  const auto key = [&](const Candidate& one) {
    return std::tuple(candidates - one.division.documents, one.division.values,
                      facets[one.number].name);
  };
  std::sort(ordered.begin(), ordered.end(),
            [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
  std::vector<size_t> chosen;
  size_t unnamed = 0;
  for (const Candidate& one : ordered) {
    const bool named = facets[one.number].named;
    if (!named && (unnamed == kChosenFacetsMax || !one.division.Divides(candidates))) continue;
    if (!named) ++unnamed;
    chosen.push_back(one.number);
  }
  return chosen;
}

}  // namespace gannet::search
