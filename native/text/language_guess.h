// Guesses the language of a text from its function words and its script.
//
// Threads: pure functions over constant tables.
#pragma once

#include <functional>
#include <string_view>

#include "text/locale.h"

namespace gannet::text {

// The language whose function words count most; kUnknown where none counts.
// weight    what a function word counts, 0: the text lacks it
Locale GuessLanguage(const std::function<double(std::string_view word)>& weight);

}  // namespace gannet::text
