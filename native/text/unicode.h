// Properties of one character that the analyzer uses, looked up in tables generated from Unicode
// data.
//
// One 32-bit entry per character, in a two-stage table (blocks of 128 characters; equal blocks are
// stored once): 130 kB, of which a text touches the few blocks of its scripts. The tables are
// written by native/tools/gen-unicode.mjs.
//
// Entry, from the lowest bit: script (5), separator (2), non-spacing mark (1), extends the grapheme
// cluster before it (1), numeric (1), letter (1), number of the lowercase difference (7), number of
// the compatibility decomposition (14; 0 if the character decomposes to itself).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace gannet::text {

// Groups of characters that are cut and normalised alike. gen-unicode.mjs depends on the order.
enum class Script : uint8_t {
  kOther,  // digits, punctuation, most symbols: joins the group around it
  kLatin,
  kCyrillic,
  kArabic,
  kDevanagari,
  kEthiopic,
  kHebrew,
  kGeorgian,
  kCj,  // Han, kana, Bopomofo
  kHangul,
  kGreek,
  kThai,
  kKhmer,
  kLao,
  kMyanmar,
  kBengali,
  kGurmukhi,
  kGujarati,
  kOriya,
  kTamil,
  kTelugu,
  kKannada,
  kMalayalam,
  kSinhala,
  kArmenian,  // no character has it; a group most of whose letters are Armenian does
};

// Whether text of this script is written without spaces, so that every character is a word.
constexpr bool IsUnspaced(Script script) {
  return script == Script::kCj || script == Script::kHangul || script == Script::kThai ||
         script == Script::kKhmer || script == Script::kLao || script == Script::kMyanmar;
}

enum class CharSeparator : uint8_t {
  kNone,
  kSoft,
  kHard,
  kWord,  // text is cut there, but its decomposition is not a separator: the ellipsis becomes a
          // word of dots
};

extern const char kUnicodeVersion[];
extern const uint16_t kCharBlocks[0x110000 / 128];
extern const uint32_t kCharEntries[];
extern const int32_t kLowerDeltas[];
extern const uint16_t kDecompositionStarts[];
extern const unsigned char kDecompositions[];

class CharInfo {
 public:
  // Any value is allowed; values above U+10FFFF have no properties.
  explicit CharInfo(char32_t c)
      : entry_(c < 0x110000 ? kCharEntries[size_t{kCharBlocks[c >> 7]} << 7 | (c & 0x7f)] : 0) {}

  Script script() const { return static_cast<Script>(entry_ & 0x1f); }
  CharSeparator separator() const { return static_cast<CharSeparator>(entry_ >> 5 & 3); }
  bool is_mark() const { return entry_ >> 7 & 1; }  // category Mn
  bool extends() const { return entry_ >> 8 & 1; }
  bool is_numeric() const { return entry_ >> 9 & 1; }  // categories Nd, Nl, No
  bool is_letter() const { return entry_ >> 10 & 1; }
  int32_t lower_delta() const { return kLowerDeltas[entry_ >> 11 & 0x7f]; }
  bool decomposes() const { return entry_ >> 18; }
  // Full compatibility decomposition (NFKD) in UTF-8; empty if it is the character itself. Hangul
  // syllables decompose by arithmetic instead: see normalize.cc.
  std::string_view decomposition() const {
    const uint32_t number = entry_ >> 18;
    if (number == 0) return {};
    const uint16_t begin = kDecompositionStarts[number - 1];
    return {reinterpret_cast<const char*>(kDecompositions) + begin,
            static_cast<size_t>(kDecompositionStarts[number] - begin)};
  }

 private:
  uint32_t entry_;
};

// Lowercase of a decomposed character; always a single character.
inline char32_t LowerChar(char32_t c) {
  return static_cast<char32_t>(static_cast<int32_t>(c) + CharInfo(c).lower_delta());
}

constexpr bool IsHangulSyllable(char32_t c) { return c >= 0xac00 && c <= 0xd7a3; }

}  // namespace gannet::text
