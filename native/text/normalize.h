// From characters as written to characters as compared.
//
// Words are normalised in two parts, because a token is classified (stop word, separator or word)
// between them:
//   lossless  compatibility decomposition (NFKD), character by character and without reordering;
//             in Swedish text the letters å ä ö are composed again; control characters removed.
//   lossy     letter case, diacritics, kana, variants of ideographs, Arabic letter forms: what
//             depends on script and language.
//
// Threads: free functions over constant tables; safe everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "text/locale.h"
#include "text/unicode.h"

namespace gannet::text {

// Language-dependent steps, as a set of bits.
enum Folding : uint8_t {
  kFoldSwedish = 1,    // keep å ä ö
  kFoldPersian = 2,    // Arabic letter forms and digits to the Persian ones
  kFoldArticle = 4,    // cut off the Arabic article
  kFoldKana = 8,       // katakana to hiragana, the mark of a long vowel to that vowel
  kFoldVariants = 16,  // ideographs to one of their variants (ideographs.h)
};

// A run of text in one script: a new group starts at a character whose script is neither kOther nor
// that of the group.
struct ScriptGroup {
  size_t end;  // the group begins at the `begin` passed to NextGroup
  Script script;
  uint8_t folding;
};

// The group that starts at text[begin]. locales: allowed languages, empty for any. REQUIRES: begin
// < text.size()
ScriptGroup NextGroup(std::string_view text, size_t begin, std::span<const Locale> locales);

// Appends the lossless form of text.
void AppendLossless(std::string_view text, uint8_t folding, std::string& out);

// The context before a text whose lossy form is made.
struct LossyState {
  // The vowel (as hiragana) of the last kana written, 0 for none; the long mark after it becomes
  // that vowel.
  char32_t vowel = 0;
};

// The mark that lengthens the kana before it, when there is no kana before it.
inline constexpr std::string_view kLongMark = "\u30fc";

// Appends the lossy form of text that is in lossless form. Each character is handled on its own,
// whatever group it is in, so that a query of one word has the form that the word has between
// others: ignorable code points are dropped, letters lowercased, then the steps of the character's
// own script follow; marks follow the steps of the character that carries them.
// state  in: the context before `text`; out: the context after it. May be null.
void AppendLossy(std::string_view text, uint8_t folding, LossyState* state, std::string& out);

// `text` without leading and trailing white space (Unicode).
std::string_view TrimWhiteSpace(std::string_view text);

// The whole string as facet search compares it: lowercase, marks removed, not cut, not trimmed; in
// the form `kUnified`.
std::string NormalizeLossy(std::string_view text, std::span<const Locale> locales);

// Replaces `out` by the form of `text` in which facet values are compared: white space trimmed,
// NFKD, lowercase; accents stay, as separate marks.
void NormalizeFacet(std::string_view text, std::string& out);

// NFKD character by character: the form in which stop words are stored.
std::string Nfkd(std::string_view text);

// Whether the word has only numeric characters (of any script) and ASCII punctuation. False if
// empty.
bool IsNumericWord(std::string_view lemma);

}  // namespace gannet::text
