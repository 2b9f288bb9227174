#include "search/searched_fields.h"

#include <algorithm>

#include "base/stop_point.h"

namespace gannet::search {
namespace {

using Names = std::vector<std::string>;

template <typename List, typename Item>
bool Has(const List& list, const Item& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

bool MatchesSearchableField(const index::Snapshot& snapshot, const std::string& pattern) {
  for (size_t f = 0; f < snapshot.traits.size(); ++f) {
    if (!snapshot.traits[f].searchable) continue;
    if (index::MatchesPattern(pattern, snapshot.fields->name(static_cast<FieldId>(f)))) return true;
  }
  return false;
}

Status CheckSearchable(const index::Snapshot& snapshot, const Names& attributes) {
  const index::Settings& settings = *snapshot.settings;
  if (!settings.searchable) return Status::Ok();
  for (const std::string& name : attributes) {
    if (name == "*") continue;
    StopPoint();
    const bool listed = std::any_of(
        settings.searchable->begin(), settings.searchable->end(), [&](const auto& entry) {
          return index::Covers(entry, name) || index::MatchesPattern(name, entry);
        });
    if (listed || MatchesSearchableField(snapshot, name)) continue;
    return Status::Invalid("The attribute `" + name +
                               "` of `attributesToSearchOn` is not searchable. " +
                               settings.SearchableText(),
                           "invalid_search_attributes_to_search_on");
  }
  return Status::Ok();
}

bool Wants(const Names& attributes, const index::Settings& settings, const std::string& field) {
  return std::any_of(attributes.begin(), attributes.end(), [&](const std::string& entry) {
    // A parent includes the fields below it only if the settings list the parent itself.
    const bool parent =
        settings.searchable && index::Covers(entry, field) && Has(*settings.searchable, entry);
    return parent || index::MatchesPattern(entry, field);
  });
}

}  // namespace

Result<FieldScope> SearchedFields(const index::Snapshot& snapshot,
                                  const std::optional<Names>& attributes) {
  const index::Settings& settings = *snapshot.settings;
  if (attributes) GANNET_RETURN_IF_ERROR(CheckSearchable(snapshot, *attributes));
  FieldScope scope;
  scope.all = !attributes || Has(*attributes, "*");
  scope.exact_numbers = settings.typo_disabled_on_numbers;
  for (size_t f = 0; f < snapshot.traits.size(); ++f) {
    StopPoint();
    const auto field = static_cast<FieldId>(f);
    const index::FieldTraits& traits = snapshot.traits[f];
    if (!traits.searchable) continue;
    if (traits.typo_tolerant) {
      scope.index_tolerant.Add(field);
    } else {
      scope.index_exact = true;
    }
    if (traits.found_by_parts) scope.index_parts.Add(field);
    if (!scope.all) {
      if (!Wants(*attributes, settings, snapshot.fields->name(field))) continue;
      scope.searched.Add(field);
    }
    if (traits.found_by_parts) scope.parts.Add(field);
    if (traits.typo_tolerant) {
      scope.tolerant.Add(field);
    } else {
      scope.any_exact = true;
    }
  }
  return scope;
}

std::vector<text::Locale> QueryLocales(const index::Snapshot& snapshot, const FieldScope& scope,
                                       std::span<const text::Locale> wanted) {
  std::vector<text::Locale> locales, named;
  bool any_language = false;
  for (size_t f = 0; f < snapshot.traits.size(); ++f) {
    const index::FieldTraits& traits = snapshot.traits[f];
    if (!traits.searchable || !scope.Searches(static_cast<FieldId>(f))) continue;
    any_language |= traits.locales.empty();
    for (const text::Locale locale : traits.locales) {
      if (Has(locales, locale)) continue;
      locales.push_back(locale);
      if (Has(wanted, locale)) named.push_back(locale);
    }
  }
  if (!named.empty()) return named;
  // If the query names only languages that no field has, match the fields without a language.
  if (!wanted.empty() && any_language) return {};
  return locales;
}

}  // namespace gannet::search
