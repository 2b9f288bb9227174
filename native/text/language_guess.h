// Guesses the language of a text from its function words and its script.
//
// Threads: pure functions over constant tables.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "text/locale.h"

namespace gannet::text {

// A language with stems and its most frequent function words, as the analyzer makes them.
struct FunctionWords {
  Locale language;
  std::string_view words;  // with a space between two
};
std::span<const FunctionWords> LanguagesKnown();

// The language whose function words count most; kUnknown where none counts.
// weight    what a function word counts, 0: the text lacks it
Locale GuessLanguage(const std::function<double(std::string_view word)>& weight);

}  // namespace gannet::text
