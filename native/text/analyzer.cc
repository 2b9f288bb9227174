#include "text/analyzer.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/stop_point.h"

namespace gannet::text {
namespace {

// Default separators of more than one character; all are hard. The third ends a Khmer enumeration.
constexpr std::string_view kDefaultStrings[] = {", ", ". ", "\u17d4\u179b\u17d4"};

constexpr bool IsRemovedAsciiControl(uint8_t c) {
  return c == 0x7f || (c > 0 && c < 0x20 && !(c >= 0x09 && c <= 0x0d));
}

// ASCII that needs no treatment except lowercasing.
constexpr bool IsCleanAscii(uint8_t c) { return c < 0x80 && !IsRemovedAsciiControl(c); }

// Lowercases eight ASCII bytes at a time: bit 7 of a byte of `from_a & ~above_z` marks a capital.
void LowerAsciiInPlace(char* bytes, size_t size) {
  constexpr uint64_t kEach = 0x0101010101010101;
  const auto lower = [](uint64_t eight) {
    const uint64_t from_a = eight + kEach * (0x80 - 'A');
    const uint64_t above_z = eight + kEach * (0x80 - 'Z' - 1);
    return eight | (from_a & ~above_z & kEach * 0x80) >> 2;
  };
  for (; size >= 8; bytes += 8, size -= 8) {
    const uint64_t eight = lower(LoadFixed<uint64_t>(bytes));
    std::memcpy(bytes, &eight, 8);
  }
  for (; size > 0; ++bytes, --size) {
    *bytes = static_cast<char>(*bytes | (static_cast<uint8_t>(*bytes - 'A') < 26) << 5);
  }
}

TokenKind KindOf(CharSeparator separator) {
  return separator == CharSeparator::kHard   ? TokenKind::kHardSeparator
         : separator == CharSeparator::kSoft ? TokenKind::kSoftSeparator
                                             : TokenKind::kWord;
}

// Hangul syllable kinds of Unicode standard annex 29: which conjoining letters form one syllable.
enum class Jamo : uint8_t { kNone, kLead, kVowel, kTrail, kOpenSyllable, kClosedSyllable };

Jamo JamoOf(char32_t c) {
  if ((c >= 0x1100 && c <= 0x115f) || (c >= 0xa960 && c <= 0xa97c)) return Jamo::kLead;
  if ((c >= 0x1160 && c <= 0x11a7) || (c >= 0xd7b0 && c <= 0xd7c6)) return Jamo::kVowel;
  if ((c >= 0x11a8 && c <= 0x11ff) || (c >= 0xd7cb && c <= 0xd7fb)) return Jamo::kTrail;
  if (!IsHangulSyllable(c)) return Jamo::kNone;
  return (c - 0xac00) % 28 == 0 ? Jamo::kOpenSyllable : Jamo::kClosedSyllable;
}

// Whether `c` belongs to the cluster whose last character is `last`.
bool Joins(char32_t last, char32_t c, CharInfo info) {
  if (info.extends()) return true;
  // A Khmer coeng or Myanmar virama stacks the following consonant.
  if (last == 0x17d2 || last == 0x1039) return true;
  if (info.script() != Script::kHangul) return false;
  const Jamo next = JamoOf(c);
  switch (JamoOf(last)) {
    case Jamo::kNone: return false;
    case Jamo::kLead: return next != Jamo::kNone && next != Jamo::kTrail;
    case Jamo::kVowel:
    case Jamo::kOpenSyllable: return next == Jamo::kVowel || next == Jamo::kTrail;
    case Jamo::kTrail:
    case Jamo::kClosedSyllable: return next == Jamo::kTrail;
  }
  return false;
}

// Whether a non-ASCII character is its own lossless form.
bool IsStable(char32_t c, CharInfo info, uint8_t folding) {
  return c >= 0xa0 && c != 0xfffd && !info.decomposes() && !IsHangulSyllable(c) &&
         !(folding & kFoldSwedish);
}

bool StartsWithArticle(std::string_view piece) {
  constexpr std::string_view kArticles[] = {"ال", "أل", "إل", "آل", "ٱل"};
  for (const std::string_view article : kArticles) {
    if (piece.starts_with(article)) return true;
  }
  return false;
}
constexpr size_t kArticleBytes = 4;

// Up to this many strings with the same first byte are compared one by one.
constexpr size_t kScannedStringsMax = 8;

// Sorts each list by text; among equal entries the first stays.
template <typename Lists>
void SortStrings(Lists& lists) {
  for (auto& list : lists) {
    std::stable_sort(list.begin(), list.end(),
                     [](const auto& a, const auto& b) { return a.text < b.text; });
    const auto end = std::unique(list.begin(), list.end(),
                                 [](const auto& a, const auto& b) { return a.text == b.text; });
    list.erase(end, list.end());
  }
}

}  // namespace

Analyzer::Analyzer(AnalyzerSettings settings) {
  for (std::string& text : settings.non_separator_tokens) removed_.insert(std::move(text));

  for (int c = 0; c < 256; ++c) {
    if (c >= 0x80) {
      byte_classes_[c] = kHighByte;
      continue;
    }
    TokenKind kind = KindOf(CharInfo(c).separator());
    if (removed_.contains(std::string(1, static_cast<char>(c)))) kind = TokenKind::kWord;
    ascii_kinds_[c] = kind;
    byte_classes_[c] = kind == TokenKind::kWord ? 0 : kSeparatorByte;
    if (IsRemovedAsciiControl(c)) byte_classes_[c] |= kControlByte;
  }

  size_t points = 0;
  for (const std::string_view text : kDefaultStrings) {
    if (removed_.contains(text)) continue;
    points += text.size() == 2;
    AddString(std::string(text), TokenKind::kHardSeparator);
  }
  ascii_is_plain_ = points == 2 && ascii_kinds_[' '] != TokenKind::kWord &&
                    ascii_kinds_[','] != TokenKind::kWord && ascii_kinds_['.'] != TokenKind::kWord;

  for (std::string& text : settings.separator_tokens) {
    if (text.empty() || removed_.contains(text)) continue;
    const uint8_t first = static_cast<uint8_t>(text[0]);
    if (first < 0x80) {
      if (text.size() == 1) {
        if (ascii_kinds_[first] == TokenKind::kWord)
          ascii_kinds_[first] = TokenKind::kSoftSeparator;
        byte_classes_[first] |= kSeparatorByte;
        continue;
      }
      ascii_is_plain_ = false;
    }
    size_t at = 0;
    const CharSeparator known = CharInfo(DecodeUtf8(text, at)).separator();
    if (at == text.size() && known != CharSeparator::kNone) continue;
    if (text == "\u00b4") {
      // The acute accent is a hard separator when added, under its decomposed form.
      AddString(Nfkd(text), TokenKind::kHardSeparator);
      ascii_is_plain_ = false;
    }
    AddString(std::move(text), TokenKind::kSoftSeparator);
  }
  SortStrings(strings_);
  // The kind that each entry would have without the dictionary.
  std::vector<TokenKind> kinds;
  for (const std::string& text : settings.dictionary) {
    kinds.push_back(Judge(text));
    if (!text.empty() && static_cast<uint8_t>(text[0]) < 0x80) ascii_is_plain_ = false;
  }
  for (size_t i = 0; i < kinds.size(); ++i) {
    if (!settings.dictionary[i].empty()) AddString(std::move(settings.dictionary[i]), kinds[i]);
  }
  SortStrings(strings_);

  for (const std::string& word : settings.stop_words) {
    std::string lossless;
    AppendLossless(word, 0, lossless);
    if (lossless.empty()) continue;
    if (Judge(lossless) != TokenKind::kWord) ascii_is_plain_ = false;
    stop_lengths_[static_cast<uint8_t>(lossless[0])] |= uint64_t{1}
                                                        << std::min<size_t>(lossless.size(), 63);
    stop_words_.insert(std::move(lossless));
  }

  for (uint8_t c = 0; c < 0x80; ++c) {
    if (ascii_kinds_[c] != TokenKind::kWord) {
      ascii_blocks_.AddSeparator(c, ascii_kinds_[c] == TokenKind::kHardSeparator);
    }
    // Vertical tab and form feed are white space that may be at either end of a word.
    if (IsRemovedAsciiControl(c) || c == '\v' || c == '\f') ascii_blocks_.AddUnclean(c);
  }
}

void Analyzer::AddString(std::string text, TokenKind kind) {
  const uint8_t first = static_cast<uint8_t>(text[0]);
  byte_classes_[first] |= kStringByte;
  const bool ascii = std::all_of(text.begin(), text.end(),
                                 [](char c) { return IsCleanAscii(static_cast<uint8_t>(c)); });
  strings_[first].push_back({std::move(text), kind, ascii});
}

TokenKind Analyzer::Judge(std::string_view lossless) const {
  if (lossless.empty()) return TokenKind::kWord;
  const uint8_t first = static_cast<uint8_t>(lossless[0]);
  if (first < 0x80 && lossless.size() == 1) return ascii_kinds_[first];
  const auto& strings = strings_[first];
  const auto found = std::lower_bound(
      strings.begin(), strings.end(), lossless,
      [](const auto& string, std::string_view text) { return string.text < text; });
  if (found != strings.end() && found->text == lossless) return found->kind;
  if (first < 0x80 || lossless.size() > 4) return TokenKind::kWord;
  size_t at = 0;
  const CharSeparator separator = CharInfo(DecodeUtf8(lossless, at)).separator();
  if (at != lossless.size() || separator == CharSeparator::kNone) return TokenKind::kWord;
  return removed_.contains(lossless) ? TokenKind::kWord : KindOf(separator);
}

const Analyzer::CutString* Analyzer::MatchString(std::string_view text) const {
  const auto& strings = strings_[static_cast<uint8_t>(text[0])];
  // In byte order a prefix of a string comes before it.
  if (strings.size() <= kScannedStringsMax) {
    for (size_t i = strings.size(); i-- > 0;) {
      if (text.starts_with(strings[i].text)) return &strings[i];
    }
    return nullptr;
  }
  // Every string between a prefix of the text and the text begins with that prefix. So the string
  // before the text either is a prefix of it, or agrees with all prefixes as far as it agrees with
  // the text.
  for (std::string_view rest = text; !rest.empty();) {
    const auto after = std::upper_bound(
        strings.begin(), strings.end(), rest,
        [](std::string_view one, const auto& string) { return one < string.text; });
    if (after == strings.begin()) return nullptr;
    const CutString& before = *(after - 1);
    const auto common = static_cast<size_t>(
        std::mismatch(rest.begin(), rest.end(), before.text.begin(), before.text.end()).first -
        rest.begin());
    if (common == before.text.size()) return &before;
    rest = rest.substr(0, common);
  }
  return nullptr;
}

void Analyzer::Tokenize(std::string_view text, std::span<const Locale> locales,
                        TokenBuffer& out) const {
  Cut(text, locales, /*words_only=*/false, out);
}

void Analyzer::Cut(std::string_view text, std::span<const Locale> locales, bool words_only,
                   TokenBuffer& out) const {
  for (size_t at = 0; at < text.size();) {
    StopPoint();
    const ScriptGroup next = NextGroup(text, at, locales);
    CutGroup({text, next.script, next.folding, words_only}, at, next.end, out);
    at = next.end;
  }
}

void Analyzer::CutGroup(const Group& group, size_t begin, size_t end, TokenBuffer& out) const {
  const std::string_view text = group.text.substr(0, end);
  size_t piece = begin;
  Content content = Content::kAscii;  // the content of the piece
  StopCounter steps;
  size_t at = begin;
  while (at < end) {
    steps.Step();
    const uint8_t byte = static_cast<uint8_t>(text[at]);
    const uint8_t byte_class = byte_classes_[byte];
    if (byte_class == 0) {
      ++at;
      continue;
    }
    if (byte_class & kStringByte) {
      if (const CutString* match = MatchString(text.substr(at))) {
        AddPiece(group, piece, at, content, out);
        const size_t match_end = at + match->text.size();
        if (match->ascii) {
          AddAscii(group, at, match_end, match->kind, out);
        } else {
          AddToken(group, at, match_end, /*unspaced=*/false, Content::kAny, nullptr, out);
        }
        piece = at = match_end;
        content = Content::kAscii;
        continue;
      }
    }
    if (byte_class & kSeparatorByte) {
      AddPiece(group, piece, at, content, out);
      if (byte_class & kControlByte) {
        AddToken(group, at, at + 1, /*unspaced=*/false, Content::kAny, nullptr, out);
      } else {
        AddAscii(group, at, at + 1, ascii_kinds_[byte], out);
      }
      piece = ++at;
      content = Content::kAscii;
      continue;
    }
    if (!(byte_class & kHighByte)) {
      if (byte_class & kControlByte) content = Content::kAny;
      ++at;
      continue;
    }
    size_t next = at;
    const char32_t c = DecodeUtf8(text, next);
    const CharInfo info(c);
    if (info.separator() == CharSeparator::kNone ||
        (!removed_.empty() && removed_.contains(text.substr(at, next - at)))) {
      const Content own = IsStable(c, info, group.folding) ? Content::kStable : Content::kAny;
      content = std::max(content, own);
      at = next;
      continue;
    }
    AddPiece(group, piece, at, content, out);
    AddToken(group, at, next, /*unspaced=*/false, Content::kAny, nullptr, out);
    piece = at = next;
    content = Content::kAscii;
  }
  AddPiece(group, piece, end, content, out);
}

void Analyzer::AddPiece(const Group& group, size_t begin, size_t end, Content content,
                        TokenBuffer& out) const {
  if (begin == end) return;
  if (content == Content::kAscii) {
    // The kind is word: a separator inside a piece would have been cut out.
    AddAscii(group, begin, end, TokenKind::kWord, out);
    return;
  }
  if (IsUnspaced(group.script)) {
    AddCharacters(group, begin, end, content, out);
    return;
  }
  if ((group.folding & kFoldArticle) && end - begin > kArticleBytes &&
      StartsWithArticle(group.text.substr(begin, end - begin))) {
    AddToken(group, begin, begin + kArticleBytes, /*unspaced=*/false, content, nullptr, out);
    begin += kArticleBytes;
  }
  AddToken(group, begin, end, /*unspaced=*/false, content, nullptr, out);
}

void Analyzer::AddCharacters(const Group& group, size_t begin, size_t end, Content content,
                             TokenBuffer& out) const {
  const std::string_view text = group.text.substr(0, end);
  LossyState state;
  size_t token_begin = begin;
  size_t at = begin;
  char32_t last = DecodeUtf8(text, at);
  bool unspaced = IsUnspaced(CharInfo(last).script());
  StopCounter steps;
  while (at < end) {
    steps.Step();
    size_t next = at;
    const char32_t c = DecodeUtf8(text, next);
    const CharInfo info(c);
    const bool is_unspaced = IsUnspaced(info.script());
    if (unspaced ? !Joins(last, c, info) : is_unspaced) {
      AddToken(group, token_begin, at, unspaced, content, &state, out);
      token_begin = at;
      unspaced = is_unspaced;
    }
    last = c;
    at = next;
  }
  AddToken(group, token_begin, end, unspaced, content, &state, out);
}

void Analyzer::AddAscii(const Group& group, size_t begin, size_t end, TokenKind kind,
                        TokenBuffer& out) const {
  const std::string_view source = group.text.substr(begin, end - begin);
  if (IsStopWord(source)) kind = TokenKind::kStopWord;
  if (kind == TokenKind::kSoftSeparator && group.words_only) return;
  std::string_view lemma = source;
  // Only settings can put white space into a word.
  if (kind <= TokenKind::kStopWord &&
      (static_cast<uint8_t>(source.front()) <= ' ' || static_cast<uint8_t>(source.back()) <= ' ')) {
    lemma = TrimWhiteSpace(source);
    if (lemma.empty()) return;
  }
  const size_t lemma_begin = out.lemmas.size();
  out.lemmas.append(lemma);
  LowerAsciiInPlace(out.lemmas.data() + lemma_begin, lemma.size());
  out.tokens.push_back({kind, false, group.script, group.folding, static_cast<uint32_t>(begin),
                        static_cast<uint32_t>(end), static_cast<uint32_t>(lemma_begin),
                        static_cast<uint32_t>(lemma.size())});
}

void Analyzer::AddToken(const Group& group, size_t begin, size_t end, bool unspaced,
                        Content content, LossyState* state, TokenBuffer& out) const {
  std::string_view lossless = group.text.substr(begin, end - begin);
  TokenKind kind = TokenKind::kWord;
  if (content == Content::kAny) {
    out.lossless_.clear();
    AppendLossless(lossless, group.folding, out.lossless_);
    lossless = out.lossless_;
    kind = Judge(lossless);
  }
  if (IsStopWord(lossless)) kind = TokenKind::kStopWord;
  if (kind == TokenKind::kSoftSeparator && group.words_only) return;

  size_t lemma_begin = out.lemmas.size();
  AppendLossy(lossless, group.folding, state, out.lemmas);
  std::string_view lemma = std::string_view(out.lemmas).substr(lemma_begin);
  if (kind <= TokenKind::kStopWord) {
    lemma = TrimWhiteSpace(lemma);
    lemma_begin = static_cast<size_t>(lemma.data() - out.lemmas.data());
  }
  if (lemma.empty()) return;
  out.tokens.push_back({kind, unspaced, group.script, group.folding, static_cast<uint32_t>(begin),
                        static_cast<uint32_t>(end), static_cast<uint32_t>(lemma_begin),
                        static_cast<uint32_t>(lemma.size())});
}

uint32_t Analyzer::OriginalPrefix(std::string_view text, const Token& token,
                                  uint32_t lemma_bytes) const {
  const uint32_t size = token.end - token.begin;
  if (lemma_bytes >= token.lemma_size) return size;
  if (lemma_bytes == 0) return 0;
  const std::string_view source = text.substr(token.begin, size);
  // Outside clean ASCII each character is normalised on its own. Only Swedish reads two of them (a
  // letter and its mark), and the long mark takes three bytes whatever it becomes.
  std::string lossless, lossy;
  LossyState state;
  uint32_t bytes = 0;
  size_t at = 0;
  while (at < source.size()) {
    size_t next = at;
    DecodeUtf8(source, next);
    size_t after = next;
    bool mark_follows = false;
    if (next < source.size()) mark_follows = CharInfo(DecodeUtf8(source, after)).is_mark();
    const auto normalize = [&](size_t end) {
      lossless.clear();
      lossy.clear();
      AppendLossless(source.substr(at, end - at), token.folding, lossless);
      AppendLossy(lossless, token.folding, &state, lossy);
    };
    if (mark_follows && (token.folding & kFoldSwedish)) next = after;
    normalize(next);
    // White space was trimmed from the front of the lemma.
    if (bytes == 0) lossy.erase(0, lossy.size() - TrimWhiteSpace(lossy + 'x').size() + 1);
    bytes += static_cast<uint32_t>(lossy.size());
    const bool is_enough = bytes >= lemma_bytes;
    at = next;
    if (!is_enough) continue;
    while (at < source.size()) {
      next = at;
      if (!CharInfo(DecodeUtf8(source, next)).is_mark()) break;
      normalize(next);
      if (!lossy.empty()) break;
      at = next;
    }
    break;
  }
  return static_cast<uint32_t>(at);
}

}  // namespace gannet::text
