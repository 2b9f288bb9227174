#include "search/natural/languages.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "text/language_guess.h"
#include "text/stemmer.h"

namespace gannet::search {
namespace {

text::Locale LanguageOfWords(const ParsedQuery& query) {
  std::set<std::string_view> words;
  for (const Term& term : query.terms) {
    for (const auto& word : term.words) {
      if (word) words.insert(*word);
    }
  }
  return text::GuessLanguage([&](std::string_view word) { return words.contains(word) ? 1 : 0; });
}

text::Locale LanguageOfDocuments(const index::Snapshot& snapshot) {
  std::map<text::Locale, uint64_t> documents;
  for (const auto& segment : snapshot.segments)
    documents[segment->text->GuessedLanguage()] += segment->text->document_count();
  const auto leading =
      std::max_element(documents.begin(), documents.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return leading == documents.end() ? text::Locale::kUnknown : leading->first;
}

}  // namespace

std::vector<text::Locale> LanguagesOf(const ParsedQuery& query, const index::Snapshot& snapshot,
                                      const FieldScope& scope,
                                      std::span<const text::Locale> locales) {
  std::vector<text::Locale> languages(locales.begin(), locales.end());
  for (size_t f = 0; f < snapshot.traits.size() && locales.empty(); ++f) {
    const index::FieldTraits& traits = snapshot.traits[f];
    if (!traits.searchable || !scope.Searches(static_cast<FieldId>(f))) continue;
    languages.insert(languages.end(), traits.locales.begin(), traits.locales.end());
  }
  if (languages.empty()) {
    languages.push_back(LanguageOfWords(query));
    if (languages[0] == text::Locale::kUnknown) languages[0] = LanguageOfDocuments(snapshot);
  }
  std::vector<text::Locale> known;
  for (const text::Locale language : languages) {
    const bool is_new = std::find(known.begin(), known.end(), language) == known.end();
    if (is_new && text::Stemmer::Knows(language) && known.size() < kQuestionLanguagesMax)
      known.push_back(language);
  }
  return known;
}

}  // namespace gannet::search
