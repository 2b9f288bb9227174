// The settings of an index as the engine uses them, and how attribute names match
// (docs/behaviour/fields.md).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_value.h"
#include "filter/formula.h"
#include "text/locale.h"

namespace gannet::index {

// Kind L: `entry` covers itself and everything nested below it.
bool Covers(std::string_view entry, std::string_view field);
// Kind P: a star at the beginning, the end or both; without a star only the exact name.
bool MatchesPattern(std::string_view pattern, std::string_view field);
// `_geo`, `_geojson`, `_vectors` and the fields below them: never matched by stars or patterns.
bool IsReserved(std::string_view field);

struct FilterFeatures {
  bool facet_search = false;
  bool equality = false;
  bool comparison = false;
  bool date = false;      // its values are moments, and can be compared
  bool elements = false;  // `field[...]` may test its elements, with any field below it
  bool compares() const { return comparison || date; }
  bool filterable() const { return equality || compares(); }
};

// One entry of filterableAttributes.
struct FilterableRule {
  std::vector<std::string> patterns;
  bool plain = false;  // a string: kind L, everything enabled, reserved names allowed
  FilterFeatures features;
  bool Matches(std::string_view field) const;
};

struct LocalizedRule {
  std::vector<std::string> patterns;
  std::vector<text::Locale> locales;
};

// Which words of a query may be missing; or, kNatural, how it is ranked altogether.
enum class MatchingStrategy : uint8_t { kLast, kAll, kFrequency, kNatural };
// kLast for any other name than those of src/contract/matching-strategies.ts.
MatchingStrategy ParseMatchingStrategy(std::string_view name);

struct RankingRule {
  std::string name;        // as in the setting; `sort` of `field:asc` and `field:desc` too
  std::string field = {};  // the field of these two, or the text of their formula; else empty
  bool ascending = true;
  std::shared_ptr<const filter::Formula> formula = nullptr;  // null: `field` is a field
};

// From which score hits count that only vectors find.
struct SemanticCutoff {
  bool automatic = false;
  std::optional<double> score = std::nullopt;  // nullopt: all count, unless automatic
};

// One embedder (embedders.md 2), as far as the engine uses it.
struct EmbedderSettings {
  std::string name;
  bool computes = true;     // if false, all vectors come with the documents
  uint32_t dimensions = 0;  // 0: not given; see Snapshot::DimensionsOf
  bool binary_quantised = false;
  struct Distribution {
    double mean, sigma;
  };
  std::optional<Distribution> distribution;
  // Indexing fragments, ascending by name, with the numbers that rows use for them.
  std::vector<std::pair<std::string, uint8_t>> fragments;
  std::string chunked;  // the attribute that is cut into passages; empty: none

  std::optional<uint8_t> Fragment(std::string_view name) const;
};

// Settings as they are stored (docs/internals/format.md), with long values stored separately.
struct StoredSettings {
  // The complete object of GET /settings, with `embedderStates`. A value that is stored separately
  // is null here, and the member `long` names it.
  std::string json;
  std::map<std::string, std::string, std::less<>> long_values;  // JSON by name
};

struct Settings {
  // Members that are absent have their default (default_settings.h).
  static Settings From(const StoredSettings& stored);
  static Settings FromJson(const json::Value& object);

  std::optional<std::vector<std::string>> displayed;               // nullopt: all
  std::optional<std::vector<std::string>> searchable;              // nullopt: all
  std::vector<std::pair<std::string, double>> searchable_weights;  // of entries that have one
  std::vector<FilterableRule> filterable;
  std::vector<std::string> sortable;
  std::vector<RankingRule> ranking_rules;
  std::vector<std::string> stop_words, separator_tokens, non_separator_tokens, dictionary;
  std::vector<std::pair<std::string, std::vector<std::string>>> synonyms;
  std::optional<std::string> distinct;
  std::optional<std::string> expires_at;
  std::vector<std::string> found_by_parts;  // substringAttributes
  bool proximity_by_attribute = false;
  bool typo_enabled = false;
  uint32_t one_typo = 0, two_typos = 0;
  std::vector<std::string> typo_disabled_words, typo_disabled_attributes;
  bool typo_disabled_on_numbers = false;
  uint64_t max_values_per_facet = 0;
  std::map<std::string, bool, std::less<>> facet_order_by_count;  // field or "*" -> by count
  uint64_t max_total_hits = 0;
  SemanticCutoff semantic_cutoff;
  uint64_t search_cutoff_ms = 0;
  std::vector<LocalizedRule> localized;
  std::vector<EmbedderSettings> embedders;  // ascending by name
  bool facet_search = false;
  bool prefix_search = false;
  MatchingStrategy default_matching_strategy = MatchingStrategy::kLast;

  bool Displays(std::string_view field) const;
  bool Searchable(std::string_view field) const;
  // Index of the first searchable entry that covers the field; 0 when all fields are searchable.
  uint32_t Weight(std::string_view field) const;
  // What an occurrence of a word in the field counts in a question (docs/behaviour/relevance.md).
  double NaturalWeight(std::string_view field) const;
  // Features of the first rule that matches, and the index of the rule; nullopt if none matches.
  std::optional<std::pair<FilterFeatures, size_t>> Filterable(std::string_view field) const;
  bool Sortable(std::string_view field) const;
  // Whether `field[...]` may test the elements of the field or of one of its parents.
  bool FiltersElements(std::string_view field) const;
  // Whether values of the field are kept in columns (docs/behaviour/fields.md).
  bool Faceted(std::string_view field) const;
  // Whether fields inside objects are visited as far as this field: every parent matches a rule or
  // begins a pattern of one. So `*.deep` alone does not reach into `a`.
  bool Reaches(std::string_view field) const;
  // Null if there is no embedder of that name.
  const EmbedderSettings* Embedder(std::string_view name) const;
  // False only if the field is listed in disableOnAttributes.
  bool TypoTolerant(std::string_view field) const;
  // Whether a query word also matches inside the words of the field.
  bool FoundByParts(std::string_view field) const;
  const LocalizedRule* Localized(std::string_view field) const;
  bool GeoEnabled() const;
  bool GeoJsonEnabled() const;
  // Lists of attributes for error messages. They do not name attributes and patterns that are not
  // displayed, and only say that there are some.
  std::string SearchableText() const;
  std::string FilterableText() const;
  std::string FacetSearchableText() const;
  std::string SortableText() const;

  // Whether a change from `other` to this leaves the words of the documents as they are.
  bool SameText(const Settings& other) const;
  // Whether it leaves the stored vectors and documents as they are.
  bool SameVectors(const Settings& other) const;
};

}  // namespace gannet::index
