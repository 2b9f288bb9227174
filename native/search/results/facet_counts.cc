#include "search/results/facet_counts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>

#include "base/json.h"
#include "base/stop_point.h"
#include "search/results/facet_choice.h"
#include "search/results/facet_counter.h"

namespace gannet::search {
namespace {

using index::Covers;
using index::FilterableRule;
using index::MatchesPattern;
using index::Settings;

// Up to this many candidates, numbers are ordered by their text, above by their value.
constexpr uint64_t kTextOrderCandidatesMax = 3000;

bool HasStar(std::string_view pattern) {
  return pattern.starts_with('*') || pattern.ends_with('*');
}

// The beginning and the end of names that match a pattern.
struct Affixes {
  std::string_view prefix, suffix;
};
Affixes AffixesOf(std::string_view pattern) {
  const bool front = pattern.starts_with('*'), back = pattern.ends_with('*');
  if (front && back) return {};
  if (front) return {{}, pattern.substr(1)};
  if (back) return {pattern.substr(0, pattern.size() - 1), {}};
  return {pattern, pattern};
}

// Whether some name may match both patterns. At least one of them has a star.
bool MayOverlap(std::string_view a, std::string_view b) {
  if (!HasStar(a)) return MatchesPattern(b, a);
  if (!HasStar(b)) return MatchesPattern(a, b);
  const Affixes x = AffixesOf(a), y = AffixesOf(b);
  return (x.prefix.starts_with(y.prefix) || y.prefix.starts_with(x.prefix)) &&
         (x.suffix.ends_with(y.suffix) || y.suffix.ends_with(x.suffix));
}

// Whether an item of `facets` names an attribute that a rule makes filterable, or a parent of it.
bool ItemMatchesRule(std::string_view item, const FilterableRule& rule) {
  if (!rule.features.filterable()) return false;
  for (const std::string& pattern : rule.patterns) {
    if (rule.plain) {
      if (HasStar(item)) {
        if (MatchesPattern(item, pattern)) return true;
        // `dog.*` for the rule `dog`.
        if (item.ends_with('*') && !item.starts_with('*') &&
            Covers(pattern, item.substr(0, item.size() - 1)))
          return true;
      } else if (Covers(pattern, item) || Covers(item, pattern)) {
        return true;
      }
    } else {
      if (pattern == item || Covers(item, pattern)) return true;
      if ((HasStar(item) || HasStar(pattern)) && MayOverlap(item, pattern)) return true;
    }
  }
  return false;
}

// Whether an item selects the field: by its name, or as a parent of it if a plain rule covers both.
bool Selects(std::string_view item, std::string_view field, const FilterableRule& rule) {
  if (item == field || (HasStar(item) && MatchesPattern(item, field))) return true;
  return !HasStar(item) && rule.plain && Covers(item, field) && Covers(rule.patterns[0], item);
}

bool OrderByCount(const Settings& settings, std::string_view field) {
  auto order = settings.facet_order_by_count.find(field);
  if (order == settings.facet_order_by_count.end()) order = settings.facet_order_by_count.find("*");
  return order != settings.facet_order_by_count.end() && order->second;
}

// Adds the values of one field in the requested order, up to a maximum number.
class Distribution {
 public:
  Distribution(const Settings& settings, FieldCounter& counter, const DocSet& candidates,
               const FacetCounting& how, FacetDistribution& out)
      : counter_(counter),
        out_(out),
        how_(how),
        by_text_(NumbersByText(candidates.size())),
        for_merging_(how.for_merging) {
    // In the order by count, 0 means no limit.
    max_ = settings.max_values_per_facet;
    if (out.by_count && max_ == 0) max_ = std::numeric_limits<uint64_t>::max();
    if (out.by_count && for_merging_) max_ = std::max(max_, kMergedFacetValues);
  }

  void Fill() {
    if (max_ > 0) {
      if (out_.by_count) {
        AddByCount(false);
        AddByCount(true);
      } else {
        AddNumbers();
        AddStrings();
      }
    }
    out_.stats = counter_.NumberRange();
    const auto measures = how_.measures.find(out_.field);
    if (out_.stats && measures != how_.measures.end()) Measure(measures->second);
  }

 private:
  template <typename Sink>
  void ForEachNumber(Sink&& sink) {
    counter_.ForEachNumber([&](const FieldCounter::Value& value) {
      steps_.Step(4);
      sink(NumberCount{value.number, value.count});
      return true;
    });
  }
  void Measure(const FacetMeasures& wanted) {
    if (how_.keeps_numbers)
      return ForEachNumber([&](const NumberCount& one) { out_.numbers.push_back(one); });
    uint64_t total = 0;
    ForEachNumber([&](const NumberCount& one) { total += one.count; });
    NumberMeter meter(wanted, *out_.stats, total);
    ForEachNumber([&](const NumberCount& one) { meter.Add(one); });
    out_.measured = std::move(meter.measured());
  }

  uint64_t left() const { return max_ - std::min<uint64_t>(max_, added_); }

  void Add(const FieldCounter::Value& value) {
    steps_.Step(64);
    ++added_;
    FacetValue shown{value.is_number            ? DecimalText(value.number)
                     : value.references.empty() ? counter_.Spelling(value.string)
                                                : counter_.Spelling(value.references),
                     value.count};
    // A number and a string may have the same text; an object keeps one of them.
    const auto [at, fresh] = index_.emplace(shown.shown, out_.values.size());
    if (fresh) {
      out_.values.push_back(std::move(shown));
    } else {
      out_.values[at->second].count = shown.count;
    }
  }

  void AddNumbers() {
    if (!by_text_) {
      counter_.ForEachNumber([&](const FieldCounter::Value& value) {
        Add(value);
        return left() > 0;
      });
      return;
    }
    std::vector<std::pair<std::string, FieldCounter::Value>> numbers;
    counter_.ForEachNumber([&](const FieldCounter::Value& value) {
      numbers.emplace_back(DecimalText(value.number), value);
      return true;
    });
    const size_t wanted = std::min<uint64_t>(left(), numbers.size());
    std::partial_sort(numbers.begin(), numbers.begin() + static_cast<ptrdiff_t>(wanted),
                      numbers.end(), [&](const auto& a, const auto& b) {
                        steps_.Step();
                        return a.first < b.first;
                      });
    for (size_t i = 0; i < wanted; ++i) Add(numbers[i].second);
    if (!for_merging_ || wanted == numbers.size()) return;
    // Together there may be enough candidates that values decide.
    uint64_t left = max_;
    added_ = 0;
    counter_.ForEachNumber([&](const FieldCounter::Value& value) {
      Add(value);
      return --left > 0;
    });
    added_ = max_;
  }

  void AddStrings() {
    if (left() == 0) return;
    counter_.ForEachString([&](const FieldCounter::Value& value) {
      Add(value);
      return left() > 0;
    });
  }

  void AddByCount(bool strings) {
    std::vector<FieldCounter::Value> values;
    const auto collect = [&](const FieldCounter::Value& value) {
      values.push_back(value);
      values.back().references = {};
      return true;
    };
    if (left() == 0) return;
    if (strings) {
      counter_.ForEachString(collect);
    } else {
      counter_.ForEachNumber(collect);
    }
    const size_t wanted = std::min<uint64_t>(left(), values.size());
    std::partial_sort(values.begin(), values.begin() + static_cast<ptrdiff_t>(wanted), values.end(),
                      [&](const auto& a, const auto& b) {
                        steps_.Step();
                        if (a.count != b.count) return a.count > b.count;
                        return a.is_number ? a.number > b.number : a.string > b.string;
                      });
    for (size_t i = 0; i < wanted; ++i) Add(values[i]);
  }

  FieldCounter& counter_;
  FacetDistribution& out_;
  const FacetCounting& how_;
  bool by_text_, for_merging_;
  uint64_t max_, added_ = 0;
  StopCounter steps_;
  std::unordered_map<std::string, size_t> index_;  // text -> index in out_.values
};

}  // namespace

std::string DecimalText(double number) {
  char buffer[32];
  const auto end =
      std::to_chars(buffer, buffer + sizeof(buffer), number, std::chars_format::scientific).ptr;
  std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  int exponent = 0;
  std::from_chars(text.data() + e + (text[e + 1] == '+' ? 2 : 1), text.data() + text.size(),
                  exponent);
  std::string out, digits;
  for (const char c : text.substr(0, e)) {
    if (c == '-') out += '-';
    if (c >= '0' && c <= '9') digits += c;
  }
  const auto count = static_cast<int>(digits.size());
  if (exponent < 0)
    return out + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (exponent >= count - 1)
    return out + digits + std::string(static_cast<size_t>(exponent - count + 1), '0');
  return out + digits.substr(0, static_cast<size_t>(exponent) + 1) + "." +
         digits.substr(static_cast<size_t>(exponent) + 1);
}

bool NumbersByText(uint64_t candidates) { return candidates <= kTextOrderCandidatesMax; }

Status ValidateFacets(const index::Snapshot& snapshot, const std::vector<std::string>& facets) {
  const auto& rules = snapshot.settings->filterable;
  for (const std::string& item : facets) {
    StopPoint();
    // The first rule that matches a name decides, even if it enables nothing.
    const auto own = HasStar(item) ? std::nullopt : snapshot.settings->Filterable(item);
    const bool hidden = own && !own->first.filterable();
    if (!hidden && std::any_of(rules.begin(), rules.end(),
                               [&](const auto& rule) { return ItemMatchesRule(item, rule); }))
      continue;
    return Status::Invalid(
        "Invalid facet `" + item + "`: " +
            (hidden ? "rule #" + std::to_string(own->second) +
                          " of `filterableAttributes` enables no feature for it."
                    : "it is not filterable. " + snapshot.settings->FilterableText()),
        "invalid_search_facets");
  }
  return Status::Ok();
}

Result<std::vector<FacetDistribution>> CountFacets(const index::Snapshot& snapshot,
                                                   const std::vector<std::string>& facets,
                                                   const DocSet& candidates,
                                                   const FacetCounting& how) {
  GANNET_RETURN_IF_ERROR(ValidateFacets(snapshot, facets));
  const Settings& settings = *snapshot.settings;
  std::optional<ChoosableFacets> choosable;
  if (how.automatic) choosable.emplace(snapshot);
  struct Selected {
    FieldId field;
    bool named;
  };
  std::map<std::string_view, Selected> selected;
  for (size_t i = 0; i < snapshot.fields->size(); ++i) {
    StopPoint();
    const auto field = static_cast<FieldId>(i);
    const std::string& name = snapshot.fields->name(field);
    const auto rule = settings.Filterable(name);
    if (!rule || !rule->first.filterable()) continue;
    const FilterableRule& made_by = settings.filterable[rule->second];
    const bool named = std::any_of(facets.begin(), facets.end(),
                                   [&](const auto& item) { return Selects(item, name, made_by); });
    if (named || (choosable && choosable->Contains(name)))
      selected.emplace(name, Selected{field, named});
  }
  const auto parts = std::make_shared<CandidatesBySegment>(snapshot, candidates);
  std::vector<FacetToChoose> counted;
  std::vector<FieldCounter> counters;
  counters.reserve(selected.size());
  for (const auto& [name, one] : selected) {
    StopPoint();
    counted.push_back({name, one.named});
    const bool needs_all = OrderByCount(settings, name) || NumbersByText(candidates.size()) ||
                           how.automatic || how.measures.contains(name);
    const uint64_t wanted =
        needs_all ? std::numeric_limits<uint64_t>::max() : settings.max_values_per_facet;
    counters.emplace_back(snapshot, one.field, parts, wanted);
  }
  FieldCounter::Pass(counters);
  std::vector<size_t> shown(counted.size());
  std::iota(shown.begin(), shown.end(), 0);
  if (how.automatic) shown = ChooseFacets(counted, counters, candidates.size());
  std::vector<FacetDistribution> out;
  for (const size_t number : shown) {
    StopPoint();
    FacetDistribution& distribution = out.emplace_back();
    distribution.field = counted[number].name;
    distribution.by_count = OrderByCount(settings, distribution.field);
    Distribution(settings, counters[number], candidates, how, distribution).Fill();
  }
  return out;
}

void AppendFacetDistributions(const std::vector<FacetDistribution>& distributions, std::string& out,
                              FacetMembers members) {
  out += std::string("\"") + members.distribution + "\":{";
  StopCounter steps;
  for (size_t i = 0; i < distributions.size(); ++i) {
    steps.Step(32);
    if (i > 0) out += ',';
    AppendJsonString(out, distributions[i].field);
    out += ":{";
    bool first = true;
    for (const FacetValue& value : distributions[i].values) {
      steps.Step(32);
      if (!first) out += ',';
      first = false;
      AppendJsonString(out, value.shown);
      out += ':';
      AppendJsonNumber(out, value.count);
    }
    out += '}';
  }
  out += std::string("},\"") + members.stats + "\":{";
  bool first = true;
  for (const FacetDistribution& distribution : distributions) {
    steps.Step(32);
    if (!distribution.stats) continue;
    if (!first) out += ',';
    first = false;
    AppendJsonString(out, distribution.field);
    out += ":{\"min\":";
    AppendJsonFloat(out, distribution.stats->first);
    out += ",\"max\":";
    AppendJsonFloat(out, distribution.stats->second);
    AppendMeasured(distribution.measured, out);
    out += '}';
  }
  out += '}';
}

Status AppendFacets(const index::Snapshot& snapshot, const std::vector<std::string>& facets,
                    const DocSet& candidates, std::string& out, const FacetCounting& how) {
  GANNET_ASSIGN_OR_RETURN(const auto distributions, CountFacets(snapshot, facets, candidates, how));
  AppendFacetDistributions(distributions, out);
  return Status::Ok();
}

}  // namespace gannet::search
