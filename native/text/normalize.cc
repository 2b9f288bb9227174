#include "text/normalize.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/stop_point.h"
#include "base/utf8.h"
#include "text/ideographs.h"

namespace gannet::text {
namespace {

constexpr bool IsAsciiLetter(uint8_t c) { return static_cast<uint8_t>((c | 0x20) - 'a') < 26; }
constexpr char LowerAscii(char c) {
  return static_cast<char>(c | (static_cast<uint8_t>(c - 'A') < 26) << 5);
}

constexpr bool IsWhiteSpace(char32_t c) {
  return (c >= 0x09 && c <= 0x0d) || c == 0x20 || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

// Controls without a meaning in text. NUL is kept because it is a separator.
constexpr bool IsRemovedControl(char32_t c) {
  return (c > 0 && c < 0x20 && !IsWhiteSpace(c)) || c == 0x7f ||
         (c >= 0x80 && c < 0xa0 && c != 0x85);
}

// The Unicode standard, section 3.12: a syllable is (lead * 21 + vowel) * 28 + trail.
void AppendJamo(char32_t syllable, std::string& out) {
  const char32_t index = syllable - 0xac00;
  AppendUtf8(out, 0x1100 + index / 588);
  AppendUtf8(out, 0x1161 + index % 588 / 28);
  if (index % 28 != 0) AppendUtf8(out, 0x11a7 + index % 28);
}

// The Swedish letter composed of `base` and a combining mark; 0 if there is none.
constexpr char32_t SwedishLetter(char base, char32_t mark) {
  if (mark == 0x030a) return base == 'a' ? 0xe5 : base == 'A' ? 0xc5 : 0;
  if (mark != 0x0308) return 0;
  return base == 'a' ? 0xe4 : base == 'A' ? 0xc4 : base == 'o' ? 0xf6 : base == 'O' ? 0xd6 : 0;
}

void AppendSwedish(std::string_view decomposed, std::string& out) {
  for (size_t at = 0; at < decomposed.size();) {
    const char32_t c = DecodeUtf8(decomposed, at);
    const char32_t letter = out.empty() ? 0 : SwedishLetter(out.back(), c);
    if (letter != 0) out.pop_back();
    AppendUtf8(out, letter != 0 ? letter : c);
  }
}

// Appends the decomposition of a character that was read from `source`.
void AppendDecomposed(char32_t c, std::string_view source, std::string& out) {
  const std::string_view decomposition = CharInfo(c).decomposition();
  if (!decomposition.empty()) {
    out.append(decomposition);
  } else if (IsHangulSyllable(c)) {
    AppendJamo(c, out);
  } else if (c == 0xfffd) {
    AppendUtf8(out, c);  // `source` may be a malformed byte
  } else {
    out.append(source);
  }
}

constexpr char32_t PersianForm(char32_t c) {
  if (c == 0x064a || c == 0x0649) return 0x06cc;  // yeh, alef maksura
  if (c == 0x0643) return 0x06a9;                 // kaf
  if (c >= 0x06f0 && c <= 0x06f9) return '0' + (c - 0x06f0);
  if (c == 0x060c) return ',';
  if (c == 0x061f) return '?';
  if (c == 0x200c) return 0;
  return c;
}

// The form of an Arabic letter; 0: removed. Alefs with hamza or madda arrive as alef and a mark.
constexpr char32_t ArabicForm(char32_t c) {
  if (c == 0x0640) return 0;                                                    // tatweel
  if (c == 0x0623 || c == 0x0625 || c == 0x0622 || c == 0x0671) return 0x0627;  // alef
  if (c == 0x0649) return 0x064a;  // alef maksura to yeh
  if (c == 0x0629) return 0x0647;  // teh marbuta to heh
  return c;
}

constexpr char32_t ToHiragana(char32_t c) {
  return (c >= 0x30a1 && c <= 0x30f6) || c == 0x30fd || c == 0x30fe ? c - 0x60 : c;
}

// Vowel rows of U+3041 to U+3096: a i u e o, n for none.
constexpr std::string_view kVowels =
    "aaiiuueeoo"       // a
    "aaiiuueeoo"       // ka ga
    "aaiiuueeoo"       // sa za
    "aaiiuuueeoo"      // ta da, with small tsu
    "aiueo"            // na
    "aaaiiiuuueeeooo"  // ha ba pa
    "aiueo"            // ma
    "aauuoo"           // ya
    "aiueo"            // ra
    "aaieo"            // wa
    "nuae";            // n vu, small ka ke
static_assert(kVowels.size() == 0x3097 - 0x3041);

constexpr char32_t VowelOf(char32_t hiragana) {
  if (hiragana < 0x3041 || hiragana > 0x3096) return 0;
  switch (kVowels[hiragana - 0x3041]) {
    case 'a': return 0x3042;
    case 'i': return 0x3044;
    case 'u': return 0x3046;
    case 'e': return 0x3048;
    case 'o': return 0x3046;  // a long o is written with u
    default: return 0;
  }
}

template <typename Each>
void ForEachChar(std::string_view text, Each&& each) {
  for (size_t at = 0; at < text.size();) each(DecodeUtf8(text, at));
}

// Default_Ignorable_Code_Point of Unicode: variation selectors, joiners, soft hyphens, fillers,
// tags.
constexpr bool IsIgnorable(char32_t c) {
  if (c < 0x34f) return c == 0xad;
  return c == 0x34f || c == 0x61c || c == 0x115f || c == 0x1160 || c == 0x17b4 || c == 0x17b5 ||
         (c >= 0x180b && c <= 0x180f) || (c >= 0x200b && c <= 0x200f) ||
         (c >= 0x202a && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0x3164 ||
         (c >= 0xfe00 && c <= 0xfe0f) || c == 0xfeff || c == 0xffa0 ||
         (c >= 0xfff0 && c <= 0xfff8) || (c >= 0x1bca0 && c <= 0x1bca3) ||
         (c >= 0x1d173 && c <= 0x1d17a) || (c >= 0xe0000 && c <= 0xe0fff);
}

constexpr bool DropsMarks(Script script) {
  return script == Script::kOther || script == Script::kLatin || script == Script::kGreek ||
         script == Script::kArabic || script == Script::kHebrew || script == Script::kThai;
}

constexpr char32_t kLongMarkChar = 0x30fc;

// Appends the lossy form of a character that is not a mark. `written`: its bytes.
void AppendLossyChar(char32_t c, std::string_view written, Script script, int32_t lower_delta,
                     uint8_t folding, LossyState& state, std::string& out) {
  const char32_t before = c;
  c = static_cast<char32_t>(static_cast<int32_t>(c) + lower_delta);
  const char32_t vowel = std::exchange(state.vowel, 0);
  switch (c) {
    case 0x2018:
    case 0x2019:
    case 0x201b: return out.push_back('\'');
    case 0xe6: return static_cast<void>(out.append("ae"));
    case 0x153: return static_cast<void>(out.append("oe"));
    case 0x111:
    case 0xf0: return out.push_back('d');
    case 0x131: return out.push_back('i');
    case 0x3c2: c = 0x3c3; break;  // final sigma
    case kLongMarkChar:
      c = vowel != 0 ? vowel : c;
      state.vowel = vowel;
      break;
    default:
      if (script == Script::kCj) {
        if (folding & kFoldVariants) c = IdeographForm(c);
        if (folding & kFoldKana) {
          c = ToHiragana(c);
          state.vowel = VowelOf(c);
        }
      } else if (script == Script::kArabic) {
        if (folding & kFoldPersian) c = PersianForm(c);
        c = ArabicForm(c);
        if (c == 0) return;
      }
  }
  if (c == before && c != 0xfffd) {
    out.append(written);
  } else {
    AppendUtf8(out, c);
  }
}

bool Contains(std::span<const Locale> locales, Locale locale) {
  return std::find(locales.begin(), locales.end(), locale) != locales.end();
}

bool ContainsAny(std::string_view text, std::initializer_list<char32_t> wanted) {
  bool found = false;
  ForEachChar(text, [&](char32_t c) {
    for (const char32_t w : wanted) found |= c == w;
  });
  return found;
}

// The language steps of a group. If several languages are allowed, letters that only one of them
// has decide: the result is then the same for a long text and for a query of one word. For the same
// reason automatic Arabic is never taken for Persian. Kana and variants of ideographs are folded
// whatever the language: a query declared as Japanese finds a title in Chinese.
uint8_t FoldingOf(std::string_view group, Script script, std::span<const Locale> locales) {
  switch (script) {
    case Script::kLatin:
      if (!Contains(locales, Locale::kSwe)) return 0;
      if (locales.size() == 1) return kFoldSwedish;
      return ContainsAny(group, {0xfc, 0xdc, 0xdf}) ? 0 : kFoldSwedish;  // ü Ü ß
    case Script::kCj: return kFoldKana | kFoldVariants;
    case Script::kArabic: {
      const bool arabic = locales.empty() || Contains(locales, Locale::kAra);
      const bool persian = Contains(locales, Locale::kPes);
      if (!arabic && !persian) return 0;
      if (!persian) return kFoldArticle;
      if (!arabic) return kFoldArticle | kFoldPersian;
      // peh, tcheh, jeh, gaf, keheh, Persian yeh
      return ContainsAny(group, {0x67e, 0x686, 0x698, 0x6af, 0x6a9, 0x6cc})
                 ? kFoldArticle | kFoldPersian
                 : kFoldArticle;
    }
    default: return 0;
  }
}

bool IsMainlyArmenian(std::string_view group) {
  size_t letters = 0, armenian = 0;
  ForEachChar(group, [&](char32_t c) {
    if (!CharInfo(c).is_letter()) return;
    ++letters;
    armenian += c >= 0x530 && c <= 0x58f;
  });
  return 2 * armenian > letters;
}

constexpr uint64_t kHighBits = 0x8080808080808080;

bool IsAscii(std::string_view text) {
  uint8_t bits = 0;
  for (const char c : text) bits |= static_cast<uint8_t>(c);
  return bits < 0x80;
}

}  // namespace

ScriptGroup NextGroup(std::string_view text, size_t begin, std::span<const Locale> locales) {
  Script script = Script::kOther;
  bool has_armenian = false;
  StopCounter steps;
  size_t at = begin;
  while (at < text.size()) {
    const uint8_t byte = static_cast<uint8_t>(text[at]);
    if (byte < 0x80) {
      if (script == Script::kLatin) {
        // ASCII cannot end a Latin group.
        while (at + 8 <= text.size() && !(LoadFixed<uint64_t>(text.data() + at) & kHighBits))
          at += 8;
        while (at < text.size() && static_cast<uint8_t>(text[at]) < 0x80) ++at;
        continue;
      }
      if (!IsAsciiLetter(byte)) {
        ++at;
        continue;
      }
      if (script != Script::kOther) break;
      script = Script::kLatin;
      ++at;
      continue;
    }
    steps.Step();
    size_t next = at;
    const char32_t c = DecodeUtf8(text, next);
    const Script own = CharInfo(c).script();
    if (own != Script::kOther && own != script) {
      if (script != Script::kOther) break;
      script = own;
    }
    has_armenian |= c >= 0x530 && c <= 0x58f;
    at = next;
  }
  const std::string_view group = text.substr(begin, at - begin);
  if (has_armenian && !IsUnspaced(script) && IsMainlyArmenian(group)) {
    script = Script::kArmenian;
  }
  return {at, script, FoldingOf(group, script, locales)};
}

void AppendLossless(std::string_view text, uint8_t folding, std::string& out) {
  std::string swedish;
  size_t copied = 0;  // text[copied, begin) is unchanged and not appended yet
  StopCounter steps;
  for (size_t at = 0; at < text.size();) {
    steps.Step();
    const size_t begin = at;
    const char32_t c = DecodeUtf8(text, at);
    const bool is_swedish = (folding & kFoldSwedish) && c >= 0x80;
    if (!is_swedish && !IsRemovedControl(c) &&
        (c < 0x80 || (!CharInfo(c).decomposes() && !IsHangulSyllable(c) && c != 0xfffd))) {
      continue;
    }
    out.append(text, copied, begin - copied);
    copied = at;
    if (IsRemovedControl(c)) continue;
    const std::string_view source = text.substr(begin, at - begin);
    if (is_swedish) {
      swedish.clear();
      AppendDecomposed(c, source, swedish);
      AppendSwedish(swedish, out);
    } else {
      AppendDecomposed(c, source, out);
    }
  }
  out.append(text, copied);
}

void AppendLossy(std::string_view text, uint8_t folding, LossyState* state, std::string& out) {
  LossyState own;
  LossyState& before = state != nullptr ? *state : own;
  Script base = Script::kOther;  // script of the character that carries the marks
  StopCounter steps;
  for (size_t at = 0; at < text.size();) {
    steps.Step();
    if (static_cast<uint8_t>(text[at]) < 0x80) {
      out.push_back(LowerAscii(text[at++]));
      before = {};
      base = Script::kOther;
      continue;
    }
    const size_t begin = at;
    const char32_t c = DecodeUtf8(text, at);
    if (IsIgnorable(c)) continue;
    const CharInfo info(c);
    const Script script = info.script();
    const std::string_view written = text.substr(begin, at - begin);
    if (info.is_mark()) {
      if (!DropsMarks(script == Script::kOther ? base : script)) out.append(written);
      continue;
    }
    base = script;
    AppendLossyChar(c, written, script, info.lower_delta(), folding, before, out);
  }
}

std::string_view TrimWhiteSpace(std::string_view text) {
  if (text.empty()) return text;
  // Bytes that end white space; all other text, including most kana and Han, is handled here.
  const auto ends = [](uint8_t byte) {
    return byte <= 0x20 || (byte >= 0x80 && byte <= 0x8a) || byte == 0x9f || byte == 0xa0 ||
           byte == 0xa8 || byte == 0xa9 || byte == 0xaf;
  };
  const uint8_t first = static_cast<uint8_t>(text.front());
  const bool begins = first <= 0x20 || first == 0xc2 || first == 0xe1 || first == 0xe2 ||
                      (first == 0xe3 && text.starts_with("\u3000"));
  if (!begins && !ends(static_cast<uint8_t>(text.back()))) return text;
  size_t begin = 0;
  while (begin < text.size()) {
    size_t next = begin;
    if (!IsWhiteSpace(DecodeUtf8(text, next))) break;
    begin = next;
  }
  size_t end = text.size();
  while (end > begin) {
    const size_t last = CharacterBegin(text, end - 1);
    size_t after = last;
    if (!IsWhiteSpace(DecodeUtf8(text, after)) || after != end) break;
    end = last;
  }
  return text.substr(begin, end - begin);
}

std::string NormalizeLossy(std::string_view text, std::span<const Locale> locales) {
  std::string out, lossless;
  for (size_t at = 0; at < text.size();) {
    const ScriptGroup group = NextGroup(text, at, locales);
    lossless.clear();
    AppendLossless(text.substr(at, group.end - at), group.folding, lossless);
    AppendLossy(lossless, group.folding, nullptr, out);
    at = group.end;
  }
  return out;
}

void NormalizeFacet(std::string_view text, std::string& out) {
  text = TrimWhiteSpace(text);
  out.clear();
  if (IsAscii(text)) {
    out.assign(text);
    for (char& c : out) c = LowerAscii(c);
    return;
  }
  const std::string decomposed = Nfkd(text);
  bool after_letter = false;
  StopCounter steps;
  for (size_t at = 0; at < decomposed.size();) {
    steps.Step();
    const char32_t c = DecodeUtf8(decomposed, at);
    const CharInfo info(c);
    if (c == 0x3a3) {
      // A capital sigma that ends a word is written ς.
      bool before_letter = false;
      for (size_t next = at; next < decomposed.size();) {
        steps.Step();
        const CharInfo following(DecodeUtf8(decomposed, next));
        if (following.is_mark()) continue;
        before_letter = following.is_letter();
        break;
      }
      out.append(after_letter && !before_letter ? "ς" : "σ");
    } else {
      AppendUtf8(out, static_cast<char32_t>(static_cast<int32_t>(c) + info.lower_delta()));
    }
    if (!info.is_mark()) after_letter = info.is_letter();
  }
}

std::string Nfkd(std::string_view text) {
  std::string out;
  StopCounter steps;
  for (size_t at = 0; at < text.size();) {
    steps.Step();
    const size_t begin = at;
    const char32_t c = DecodeUtf8(text, at);
    AppendDecomposed(c, text.substr(begin, at - begin), out);
  }
  return out;
}

bool IsNumericWord(std::string_view lemma) {
  for (size_t at = 0; at < lemma.size();) {
    const char32_t c = DecodeUtf8(lemma, at);
    const bool ascii_punctuation = c > 0x20 && c < 0x7f && !IsAsciiLetter(static_cast<uint8_t>(c));
    if (!ascii_punctuation && !CharInfo(c).is_numeric()) return false;
  }
  return !lemma.empty();
}

}  // namespace gannet::text
