// Stems of words by Snowball (https://snowballstem.org), as compiled from libstemmer's C sources.
//
// Words are given as the analyzer makes them, without case and accents, so some endings that only
// accents tell apart are taken for one another; documents and queries are treated alike.
//
// Threads: one owner.
#pragma once

#include <memory>
#include <string_view>

#include "text/locale.h"

struct sb_stemmer;

namespace gannet::text {

class Stemmer {
 public:
  // Whether there are stems in the language.
  static bool Knows(Locale language);
  // REQUIRES: Knows(language)
  explicit Stemmer(Locale language);
  ~Stemmer();
  Stemmer(const Stemmer&) = delete;

  // The stem of a word; valid until the next call. Words with digits, and words of one or two
  // bytes, are their own stems.
  // Cost: 0.2 us.
  std::string_view Stem(std::string_view word);

 private:
  sb_stemmer* stemmer_;
};

// Whether words of the language are often written together as one.
bool HasCompounds(Locale language);

}  // namespace gannet::text
