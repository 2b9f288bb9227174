#include "index/settings.h"
#include "index/default_settings.h"
#include "vector/kernels.h"

#include <algorithm>

namespace gannet::index {
namespace {

std::vector<std::string> StringsOf(const json::Value& value) {
  return value.Strings().value_or(std::vector<std::string>());
}

std::optional<std::vector<std::string>> ListOrAll(const json::Value& value) {
  auto list = value.Strings();
  if (list && std::find(list->begin(), list->end(), "*") != list->end()) return std::nullopt;
  return list;
}

// Entries are names, or objects of a name and a weight.
void ReadSearchable(const json::Value& value, Settings& settings) {
  settings.searchable.emplace();
  for (const json::Value& entry : value.items()) {
    const json::Value& name = entry.is_string() ? entry : entry["attribute"];
    if (!entry.is_string())
      settings.searchable_weights.emplace_back(name.string(), entry["weight"].number(1));
    settings.searchable->push_back(name.string());
  }
  const auto& names = *settings.searchable;
  if (std::find(names.begin(), names.end(), "*") != names.end()) settings.searchable.reset();
}

RankingRule ParseRankingRule(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos) return {.name = text};
  RankingRule rule{
      .name = "sort", .field = text.substr(0, colon), .ascending = text.ends_with(":asc")};
  if (filter::LooksLikeFormula(rule.field)) {
    auto formula = filter::ParseFormula(rule.field, {});
    if (formula.ok()) rule.formula = std::move(*formula);
  }
  return rule;
}

bool AnyCovers(const std::vector<std::string>& entries, std::string_view field) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const auto& entry) { return Covers(entry, field); });
}

// state: what is stored about it apart from its settings, see src/engine/embedder-states.ts.
EmbedderSettings EmbedderOf(const std::string& name, const json::Value& embedder,
                            const json::Value& state) {
  EmbedderSettings settings;
  settings.name = name;
  settings.computes = state["computes"].boolean(true);
  const uint64_t dimensions = embedder["dimensions"].integer(state["dimensions"].integer());
  if (dimensions <= vector::kDimensionsMax) settings.dimensions = static_cast<uint32_t>(dimensions);
  settings.binary_quantised = embedder["binaryQuantized"].boolean();
  const json::Value& given = embedder["distribution"];
  const json::Value& distribution = given.is_object() ? given : state["distribution"];
  if (distribution.is_object()) {
    settings.distribution = {distribution["mean"].number(), distribution["sigma"].number()};
  }
  for (const auto& [fragment, number] : state["fragments"].members()) {
    settings.fragments.emplace_back(fragment, static_cast<uint8_t>(number.integer()));
  }
  std::sort(settings.fragments.begin(), settings.fragments.end());
  const json::Value& part = embedder["indexingEmbedder"];
  settings.chunked = (part.is_object() ? part : embedder)["chunks"]["attribute"].string();
  return settings;
}

FilterableRule FilterableRuleOf(const json::Value& item) {
  FilterableRule rule;
  if (item.is_string()) {
    rule.patterns = {item.string()};
    rule.plain = true;
    rule.features = {.facet_search = true, .equality = true, .comparison = true};
    return rule;
  }
  rule.patterns = StringsOf(item["attributePatterns"]);
  const json::Value& features = item["features"];
  const json::Value& filter = features["filter"];
  rule.features = {.facet_search = features["facetSearch"].boolean(),
                   .equality = filter["equality"].boolean(),
                   .comparison = filter["comparison"].boolean(),
                   .date = filter["date"].boolean(),
                   .elements = filter["elements"].boolean()};
  return rule;
}

LocalizedRule LocalizedRuleOf(const json::Value& item) {
  LocalizedRule rule{StringsOf(item["attributePatterns"]), {}};
  for (const std::string& code : StringsOf(item["locales"])) {
    if (auto locale = text::ParseLocale(code)) rule.locales.push_back(*locale);
  }
  return rule;
}

// Stored settings, with defaults for missing members at any depth: settings that were stored before
// a setting existed lack it.
class Stored {
 public:
  Stored(const json::Value& stored, const json::Value& initial)
      : stored_(stored), initial_(initial) {}
  Stored operator[](std::string_view name) const { return {stored_[name], initial_[name]}; }
  const json::Value& operator*() const { return stored_.is_null() ? initial_ : stored_; }
  const json::Value* operator->() const { return &**this; }

 private:
  const json::Value& stored_;
  const json::Value& initial_;
};

// "The `kind` attributes are `a`, `b` and hidden ones."
std::string TextOf(const std::string& kind, const std::vector<std::string>& names,
                   const Settings& settings) {
  if (names.empty()) return "This index has no " + kind + " attributes.";
  std::string shown;
  bool hidden = false;
  for (const std::string& name : names) {
    if (settings.Displays(name)) {
      shown += (shown.empty() ? "`" : ", `") + name + "`";
    } else {
      hidden = true;
    }
  }
  if (hidden) shown += shown.empty() ? "hidden" : " and hidden ones";
  return "The " + kind + " attributes are " + shown + ".";
}

std::vector<std::string> PatternsWith(const std::vector<FilterableRule>& rules,
                                      bool (*has)(const FilterFeatures&)) {
  std::vector<std::string> patterns;
  for (const FilterableRule& rule : rules) {
    if (has(rule.features))
      patterns.insert(patterns.end(), rule.patterns.begin(), rule.patterns.end());
  }
  return patterns;
}

}  // namespace

bool Covers(std::string_view entry, std::string_view field) {
  return field.starts_with(entry) && (field.size() == entry.size() || field[entry.size()] == '.');
}

bool MatchesPattern(std::string_view pattern, std::string_view field) {
  if (pattern == "*") return true;
  const bool front = pattern.starts_with('*'), back = pattern.size() > 1 && pattern.ends_with('*');
  if (front && back) return field.find(pattern.substr(1, pattern.size() - 2)) != field.npos;
  if (front) return field.ends_with(pattern.substr(1));
  if (back) return field.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == field;
}

bool IsReserved(std::string_view field) {
  return Covers("_geo", field) || Covers("_geojson", field) || Covers("_vectors", field);
}

bool FilterableRule::Matches(std::string_view field) const {
  if (plain) return Covers(patterns[0], field) && !Covers("_vectors", field);
  if (IsReserved(field)) return false;
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const auto& p) { return MatchesPattern(p, field); });
}

Settings Settings::From(const StoredSettings& stored) {
  json::Value object = json::Value::Parse(stored.json);
  for (const auto& [name, text] : stored.long_values) object.Set(name, json::Value::Parse(text));
  return FromJson(object);
}

Settings Settings::FromJson(const json::Value& object) {
  static const json::Value defaults = json::Value::Parse(kDefaultSettings);
  const Stored stored(object, defaults);
  Settings settings;
  settings.displayed = ListOrAll(*stored["displayedAttributes"]);
  ReadSearchable(*stored["searchableAttributes"], settings);
  for (const json::Value& item : stored["filterableAttributes"]->items()) {
    settings.filterable.push_back(FilterableRuleOf(item));
  }
  settings.sortable = StringsOf(*stored["sortableAttributes"]);
  for (const std::string& text : StringsOf(*stored["rankingRules"])) {
    settings.ranking_rules.push_back(ParseRankingRule(text));
  }
  settings.stop_words = StringsOf(*stored["stopWords"]);
  settings.separator_tokens = StringsOf(*stored["separatorTokens"]);
  settings.non_separator_tokens = StringsOf(*stored["nonSeparatorTokens"]);
  settings.dictionary = StringsOf(*stored["dictionary"]);
  for (const auto& [key, values] : stored["synonyms"]->members()) {
    settings.synonyms.emplace_back(key, StringsOf(values));
  }
  if (const json::Value& distinct = *stored["distinctAttribute"]; distinct.is_string())
    settings.distinct = distinct.string();
  if (const json::Value& expires = *stored["expiresAtAttribute"]; expires.is_string())
    settings.expires_at = expires.string();
  settings.found_by_parts = StringsOf(*stored["substringAttributes"]);
  settings.proximity_by_attribute = stored["proximityPrecision"]->string() == "byAttribute";
  const Stored typo = stored["typoTolerance"];
  const Stored sizes = typo["minWordSizeForTypos"];
  settings.typo_enabled = typo["enabled"]->boolean();
  settings.one_typo = static_cast<uint32_t>(sizes["oneTypo"]->integer());
  settings.two_typos = static_cast<uint32_t>(sizes["twoTypos"]->integer());
  settings.typo_disabled_words = StringsOf(*typo["disableOnWords"]);
  settings.typo_disabled_attributes = StringsOf(*typo["disableOnAttributes"]);
  settings.typo_disabled_on_numbers = typo["disableOnNumbers"]->boolean();
  const Stored faceting = stored["faceting"];
  settings.max_values_per_facet = faceting["maxValuesPerFacet"]->integer();
  for (const auto& [field, order] : faceting["sortFacetValuesBy"]->members()) {
    settings.facet_order_by_count[field] = order.string() == "count";
  }
  settings.max_total_hits = stored["pagination"]["maxTotalHits"]->integer();
  const json::Value& cutoff = *stored["semanticCutoff"];
  settings.semantic_cutoff.automatic = cutoff.string() == "auto";
  if (!cutoff.is_string()) settings.semantic_cutoff.score = cutoff.number();
  settings.search_cutoff_ms = stored["searchCutoffMs"]->integer();
  for (const json::Value& item : stored["localizedAttributes"]->items()) {
    settings.localized.push_back(LocalizedRuleOf(item));
  }
  for (const auto& [name, embedder] : stored["embedders"]->members()) {
    const json::Value& state = object["embedderStates"][name];
    settings.embedders.push_back(EmbedderOf(name, embedder, state));
  }
  std::sort(settings.embedders.begin(), settings.embedders.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  settings.facet_search = stored["facetSearch"]->boolean();
  settings.prefix_search = stored["prefixSearch"]->string() != "disabled";
  settings.default_matching_strategy =
      ParseMatchingStrategy(stored["defaultMatchingStrategy"]->string());
  return settings;
}

MatchingStrategy ParseMatchingStrategy(std::string_view name) {
  if (name == "all") return MatchingStrategy::kAll;
  if (name == "frequency") return MatchingStrategy::kFrequency;
  return name == "natural" ? MatchingStrategy::kNatural : MatchingStrategy::kLast;
}

bool Settings::Displays(std::string_view field) const {
  if (Covers("_vectors", field)) return false;
  return !displayed || AnyCovers(*displayed, field);
}

bool Settings::Searchable(std::string_view field) const {
  return !IsReserved(field) && (!searchable || AnyCovers(*searchable, field));
}

uint32_t Settings::Weight(std::string_view field) const {
  if (!searchable) return 0;
  for (size_t i = 0; i < searchable->size(); ++i) {
    if (Covers((*searchable)[i], field)) return static_cast<uint32_t>(i);
  }
  return 0;
}

std::optional<std::pair<FilterFeatures, size_t>> Settings::Filterable(
    std::string_view field) const {
  for (size_t i = 0; i < filterable.size(); ++i) {
    if (filterable[i].Matches(field)) return std::pair(filterable[i].features, i);
  }
  return std::nullopt;
}

bool Settings::Sortable(std::string_view field) const { return AnyCovers(sortable, field); }

bool Settings::FiltersElements(std::string_view field) const {
  for (size_t end = 0; end != field.npos;) {
    end = field.find('.', end + 1);
    const auto rule = Filterable(field.substr(0, end));
    if (rule && rule->first.elements) return true;
  }
  return false;
}

bool Settings::Reaches(std::string_view field) const {
  for (size_t dot = field.find('.'); dot != field.npos; dot = field.find('.', dot + 1)) {
    const std::string_view parent = field.substr(0, dot);
    const bool entered =
        std::any_of(filterable.begin(), filterable.end(), [&](const FilterableRule& rule) {
          return std::any_of(
              rule.patterns.begin(), rule.patterns.end(), [&](const std::string& pattern) {
                return rule.plain ? Covers(pattern, parent) || Covers(parent, pattern)
                                  : MatchesPattern(pattern, parent) || Covers(parent, pattern);
              });
        });
    if (!entered) return false;
  }
  return true;
}

bool Settings::Faceted(std::string_view field) const {
  if (Covers("_vectors", field) || Covers("_geojson", field)) return false;
  if (const auto rule = Filterable(field);
      rule && (rule->first.filterable() || rule->first.facet_search) && Reaches(field)) {
    return true;
  }
  if (Sortable(field) || distinct == field || expires_at == field || FiltersElements(field))
    return true;
  return std::any_of(ranking_rules.begin(), ranking_rules.end(), [&](const RankingRule& rule) {
    return rule.formula != nullptr ? AnyCovers(rule.formula->AllFields(), field)
                                   : !rule.field.empty() && Covers(rule.field, field);
  });
}

bool Settings::TypoTolerant(std::string_view field) const {
  return !AnyCovers(typo_disabled_attributes, field);
}

bool Settings::FoundByParts(std::string_view field) const {
  return AnyCovers(found_by_parts, field);
}

const LocalizedRule* Settings::Localized(std::string_view field) const {
  for (const LocalizedRule& rule : localized) {
    for (const std::string& pattern : rule.patterns) {
      if (MatchesPattern(pattern, field)) return &rule;
    }
  }
  return nullptr;
}

std::string Settings::SearchableText() const {
  return TextOf("searchable", searchable.value_or(std::vector<std::string>{"*"}), *this);
}
std::string Settings::FilterableText() const {
  return TextOf("filterable",
                PatternsWith(filterable,
                             [](const FilterFeatures& features) { return features.filterable(); }),
                *this);
}
std::string Settings::FacetSearchableText() const {
  return TextOf("facet-searchable",
                PatternsWith(filterable,
                             [](const FilterFeatures& features) { return features.facet_search; }),
                *this);
}
std::string Settings::SortableText() const { return TextOf("sortable", sortable, *this); }

bool Settings::GeoEnabled() const {
  const auto is_geo = [](const std::string& name) { return name == "_geo"; };
  return std::any_of(sortable.begin(), sortable.end(), is_geo) ||
         std::any_of(filterable.begin(), filterable.end(), [&](const FilterableRule& rule) {
           return rule.plain && is_geo(rule.patterns[0]);
         });
}

bool Settings::GeoJsonEnabled() const {
  return std::any_of(filterable.begin(), filterable.end(), [](const FilterableRule& rule) {
    return rule.plain && rule.patterns[0] == "_geojson";
  });
}

std::optional<uint8_t> EmbedderSettings::Fragment(std::string_view wanted) const {
  for (const auto& [fragment, number] : fragments) {
    if (fragment == wanted) return number;
  }
  return std::nullopt;
}

const EmbedderSettings* Settings::Embedder(std::string_view name) const {
  const auto found =
      std::lower_bound(embedders.begin(), embedders.end(), name,
                       [](const EmbedderSettings& embedder, std::string_view wanted) {
                         return embedder.name < wanted;
                       });
  return found != embedders.end() && found->name == name ? &*found : nullptr;
}

bool Settings::SameVectors(const Settings& other) const {
  const auto same = [](const EmbedderSettings& a, const EmbedderSettings& b) {
    return a.name == b.name && a.computes == b.computes && a.dimensions == b.dimensions &&
           a.binary_quantised == b.binary_quantised;
  };
  return std::equal(embedders.begin(), embedders.end(), other.embedders.begin(),
                    other.embedders.end(), same);
}

double Settings::NaturalWeight(std::string_view field) const {
  for (const auto& [name, weight] : searchable_weights) {
    if (Covers(name, field)) return weight;
  }
  if (!searchable || searchable->size() < 2) return 1.0;
  return 3.0 - 2.0 * Weight(field) / static_cast<double>(searchable->size() - 1);
}

bool Settings::SameText(const Settings& other) const {
  const auto sorted = [](std::optional<std::vector<std::string>> list) {
    if (list) std::sort(list->begin(), list->end());
    return list;
  };
  const auto same_locales = [](const LocalizedRule& a, const LocalizedRule& b) {
    return a.patterns == b.patterns && a.locales == b.locales;
  };
  return sorted(searchable) == sorted(other.searchable) && stop_words == other.stop_words &&
         separator_tokens == other.separator_tokens &&
         non_separator_tokens == other.non_separator_tokens && dictionary == other.dictionary &&
         found_by_parts == other.found_by_parts &&
         std::equal(localized.begin(), localized.end(), other.localized.begin(),
                    other.localized.end(), same_locales);
}

}  // namespace gannet::index
