// The stem table of a dictionary: which of its words have a given stem, and, of languages whose
// words are written together, which are compounds of it.
//
// Nothing of it is stored: it is made from the dictionary, once for a language, when a question
// first asks for it, and lives as long as the segment is open. Segments that take the place of
// others get the tables that these had when they are written.
//
// Threads: immutable.
// Memory: 12 bytes per word, and 12 per part of a compound.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "fst/fst.h"
#include "text/locale.h"

namespace gannet::segment {

class StemTable {
 public:
  // Cost: 0.4 us per word; of languages with compounds 2 us per long word.
  // REQUIRES: text::Stemmer::Knows(language)
  StemTable(const fst::Fst& terms, text::Locale language);

  // The words whose stem this is, and compounds of them, ascending.
  std::span<const Ordinal> WordsOf(std::string_view stem) const;
  size_t bytes() const { return hashes_.size() * (sizeof(uint64_t) + sizeof(Ordinal)); }

 private:
  // Two columns of one table, which is sorted by hash of the stem, then by ordinal.
  std::vector<uint64_t> hashes_;
  std::vector<Ordinal> ordinals_;
};

}  // namespace gannet::segment
