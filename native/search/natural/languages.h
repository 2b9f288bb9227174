// The languages of a question, whose stemmers apply to its words (docs/behaviour/relevance.md).
//
// Threads: a pure function.
#pragma once

#include <span>
#include <vector>

#include "index/snapshot.h"
#include "search/matching/field_scope.h"
#include "search/query/query.h"
#include "text/locale.h"

namespace gannet::search {

// The languages of `locales`; else those of the searched fields; else the one guessed from the
// function words of the question; else the one of most documents. At most kQuestionLanguagesMax,
// all of which have stems.
inline constexpr size_t kQuestionLanguagesMax = 3;
std::vector<text::Locale> LanguagesOf(const ParsedQuery& query, const index::Snapshot& snapshot,
                                      const FieldScope& scope,
                                      std::span<const text::Locale> locales);

}  // namespace gannet::search
