#include "index/settings.h"
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

RankingRule ParseRankingRule(const std::string& text) {
  using Kind = RankingRule::Kind;
  static const std::pair<const char*, Kind> kNames[] = {{"words", Kind::kWords},
                                                        {"typo", Kind::kTypo},
                                                        {"attribute", Kind::kAttribute},
                                                        {"sort", Kind::kSort},
                                                        {"exactness", Kind::kExactness}};
  for (const auto& [name, kind] : kNames) {
    if (text == name) return RankingRule{kind, {}};
  }
  const size_t colon = text.rfind(':');
  const std::string direction = colon == text.npos ? "" : text.substr(colon + 1);
  if (direction == "asc") return RankingRule{Kind::kAscending, text.substr(0, colon)};
  if (direction == "desc") return RankingRule{Kind::kDescending, text.substr(0, colon)};
  return RankingRule{Kind::kCost, text};
}

bool AnyCovers(const std::vector<std::string>& entries, std::string_view field) {
  return std::any_of(entries.begin(), entries.end(),
                     [&](const auto& entry) { return Covers(entry, field); });
}

// How scores of openAi's models are spread; none of other sources.
std::optional<EmbedderSettings::Distribution> BuiltInDistribution(const json::Value& embedder) {
  const std::string& source = embedder["source"].string();
  if (!source.empty() && source != "openAi") return std::nullopt;
  const std::string& model = embedder["model"].string();
  if (model == "text-embedding-ada-002") return EmbedderSettings::Distribution{0.90, 0.08};
  if (model == "text-embedding-3-large") return EmbedderSettings::Distribution{0.70, 0.10};
  return EmbedderSettings::Distribution{0.75, 0.10};
}

// state: what is known of it besides its settings, see src/embedding/embedder-state.ts.
EmbedderSettings EmbedderOf(const std::string& name, const json::Value& embedder,
                            const json::Value& state) {
  EmbedderSettings settings;
  settings.name = name;
  const std::string& source = embedder["source"].string();
  settings.user_provided = source == "userProvided";
  const uint64_t dimensions = embedder["dimensions"].integer(state["dimensions"].integer(0));
  if (dimensions <= vector::kDimensionsMax) settings.dimensions = static_cast<uint32_t>(dimensions);
  if (settings.dimensions == 0 && (source == "openAi" || source.empty())) {
    settings.dimensions = embedder["model"].string() == "text-embedding-3-large" ? 3072 : 1536;
  }
  settings.binary_quantised = embedder["binaryQuantized"].boolean(false);
  const json::Value& distribution = embedder["distribution"];
  if (distribution.is_object()) {
    settings.distribution = {distribution["mean"].number(), distribution["sigma"].number()};
  } else if (source == "composite") {
    settings.distribution = BuiltInDistribution(embedder["searchEmbedder"]);
    if (!settings.distribution)
      settings.distribution = BuiltInDistribution(embedder["indexingEmbedder"]);
  } else {
    settings.distribution = BuiltInDistribution(embedder);
  }
  return settings;
}

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

Settings Settings::FromJson(const json::Value& object) {
  Settings settings;
  settings.displayed = ListOrAll(object["displayedAttributes"]);
  settings.searchable = ListOrAll(object["searchableAttributes"]);
  for (const json::Value& item : object["filterableAttributes"].items()) {
    FilterableRule rule;
    if (item.is_string()) {
      rule.patterns = {item.string()};
      rule.plain = true;
      rule.features = {true, true, true};
    } else {
      rule.patterns = StringsOf(item["attributePatterns"]);
      const json::Value& features = item["features"];
      rule.features.facet_search = features["facetSearch"].boolean(false);
      rule.features.equality = features["filter"]["equality"].boolean(true);
      rule.features.comparison = features["filter"]["comparison"].boolean(false);
    }
    settings.filterable.push_back(std::move(rule));
  }
  settings.sortable = StringsOf(object["sortableAttributes"]);
  std::vector<std::string> rules = {"words", "typo", "proximity", "attribute", "sort", "exactness"};
  if (auto given = object["rankingRules"].Strings()) rules = *given;
  for (const std::string& text : rules) {
    settings.ranking_rules.push_back(ParseRankingRule(text));
  }
  settings.stop_words = StringsOf(object["stopWords"]);
  settings.separator_tokens = StringsOf(object["separatorTokens"]);
  settings.non_separator_tokens = StringsOf(object["nonSeparatorTokens"]);
  settings.dictionary = StringsOf(object["dictionary"]);
  for (const auto& [key, values] : object["synonyms"].members()) {
    settings.synonyms.emplace_back(key, StringsOf(values));
  }
  if (object["distinctAttribute"].is_string())
    settings.distinct = object["distinctAttribute"].string();
  settings.proximity_by_attribute = object["proximityPrecision"].string() == "byAttribute";
  const json::Value& typo = object["typoTolerance"];
  settings.typo_enabled = typo["enabled"].boolean(true);
  settings.one_typo = static_cast<uint32_t>(typo["minWordSizeForTypos"]["oneTypo"].integer(5));
  settings.two_typos = static_cast<uint32_t>(typo["minWordSizeForTypos"]["twoTypos"].integer(9));
  settings.typo_disabled_words = StringsOf(typo["disableOnWords"]);
  settings.typo_disabled_attributes = StringsOf(typo["disableOnAttributes"]);
  settings.typo_disabled_on_numbers = typo["disableOnNumbers"].boolean(false);
  const json::Value& faceting = object["faceting"];
  settings.max_values_per_facet = faceting["maxValuesPerFacet"].integer(100);
  for (const auto& [field, order] : faceting["sortFacetValuesBy"].members()) {
    settings.facet_order_by_count[field] = order.string() == "count";
  }
  settings.max_total_hits = object["pagination"]["maxTotalHits"].integer(1000);
  if (object["searchCutoffMs"].kind() == json::Value::Kind::kNumber) {
    settings.search_cutoff_ms = object["searchCutoffMs"].integer();
  }
  for (const json::Value& item : object["localizedAttributes"].items()) {
    LocalizedRule rule{StringsOf(item["attributePatterns"]), {}};
    for (const std::string& code : StringsOf(item["locales"])) {
      if (auto locale = text::ParseLocale(code)) rule.locales.push_back(*locale);
    }
    settings.localized.push_back(std::move(rule));
  }
  for (const auto& [name, embedder] : object["embedders"].members()) {
    settings.embedders.push_back(EmbedderOf(name, embedder, object["embedderStates"][name]));
  }
  std::sort(settings.embedders.begin(), settings.embedders.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (EmbedderSettings& embedder : settings.embedders) {
    for (const auto& [name, number] :
         object["embedderStates"][embedder.name]["fragments"].members()) {
      embedder.fragments.emplace_back(name, static_cast<uint8_t>(number.integer()));
    }
    std::sort(embedder.fragments.begin(), embedder.fragments.end());
  }
  settings.facet_search = object["facetSearch"].boolean(true);
  settings.prefix_search = object["prefixSearch"].string() != "disabled";
  return settings;
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
  if (Sortable(field) || (distinct && *distinct == field)) return true;
  return std::any_of(ranking_rules.begin(), ranking_rules.end(), [&](const RankingRule& rule) {
    return (rule.kind == RankingRule::Kind::kAscending ||
            rule.kind == RankingRule::Kind::kDescending) &&
           Covers(rule.name, field);
  });
}

bool Settings::TypoTolerant(std::string_view field) const {
  return !AnyCovers(typo_disabled_attributes, field);
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
    return a.name == b.name && a.user_provided == b.user_provided && a.dimensions == b.dimensions &&
           a.binary_quantised == b.binary_quantised;
  };
  return std::equal(embedders.begin(), embedders.end(), other.embedders.begin(),
                    other.embedders.end(), same);
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
         std::equal(localized.begin(), localized.end(), other.localized.begin(),
                    other.localized.end(), same_locales);
}

}  // namespace gannet::index
