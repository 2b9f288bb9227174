// Which fields a search looks at, and the languages of its words.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "index/snapshot.h"
#include "search/matching/field_scope.h"
#include "text/locale.h"

namespace gannet::search {

// attributes  the parameter `attributesToSearchOn`
// Invalid: invalid_search_attributes_to_search_on.
Result<FieldScope> SearchedFields(const index::Snapshot& snapshot,
                                  const std::optional<std::vector<std::string>>& attributes);

// The languages in which the searched documents were analyzed, restricted to those that the query
// names: words of the query must be analyzed like those of the documents.
// wanted  languages that the query names
std::vector<text::Locale> QueryLocales(const index::Snapshot& snapshot, const FieldScope& scope,
                                       std::span<const text::Locale> wanted);

}  // namespace gannet::search
