// The analyzer: text to words, the same for documents, queries, synonyms and highlighting.
//
// 1. The text is grouped by script (normalize.h).
// 2. Each group is cut at separators and at entries of the dictionary: the leftmost first, among
//    those the longest. The text between two cuts is a piece.
// 3. A piece is a token; but in scripts written without spaces each character is one (a grapheme
//    cluster in Thai, Lao, Khmer and Myanmar, a syllable in Hangul, a character with its combining
//    marks in Han and kana), as is each run of other characters between them ("2025" in
//    "从2025年"). An Arabic article is cut off its noun. No step depends on a dictionary of the
//    language, so that a query is always cut as the document was. German compounds stay whole.
// 4. Each token is normalised without loss, classified (stop word, separator, word), and normalised
//    with loss.
//
// Invariants: tokens are ascending and do not overlap; together they cover the text, apart from
// those whose lemma is empty (a lone combining mark) or all white space, which are dropped. Lemmas
// of words have no white space at their ends. Text should be UTF-8; a malformed byte is read as
// U+FFFD.
//
// Threads: an Analyzer is immutable and may be shared; a TokenBuffer belongs to one thread.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "text/ascii_blocks.h"
#include "text/locale.h"
#include "text/normalize.h"

namespace gannet::text {

inline constexpr uint32_t kWordBytesMax = 250;    // longer words are not indexed
inline constexpr uint32_t kPositionMax = 65535;   // words after it are not indexed
inline constexpr uint32_t kHardSeparatorGap = 8;  // distance of two words across a hard separator

enum class TokenKind : uint8_t { kWord, kStopWord, kSoftSeparator, kHardSeparator };

struct Token {
  TokenKind kind;
  bool unspaced;        // the word is one character (cluster) of a script written without spaces
  Script script;        // script of the group that holds the token
  uint8_t folding;      // language steps that made the lemma (Folding bits)
  uint32_t begin, end;  // bytes in the original text, [begin, end)
  uint32_t lemma_begin, lemma_size;  // bytes in TokenBuffer::lemmas
};

// A buffer for tokens. Reusable: it does not allocate once it has held the longest text.
class TokenBuffer {
 public:
  void Clear() {
    tokens.clear();
    lemmas.clear();
  }
  // Valid until the buffer changes.
  std::string_view lemma(const Token& token) const {
    return std::string_view(lemmas).substr(token.lemma_begin, token.lemma_size);
  }

  std::vector<Token> tokens;
  std::string lemmas;

 private:
  friend class Analyzer;
  std::string lossless_;  // lossless form of the current token
  std::vector<AsciiBlock> blocks_;
};

// Settings of an index. Stop words are compared in decomposed form, letter case as given.
struct AnalyzerSettings {
  std::vector<std::string> stop_words{};
  std::vector<std::string> separator_tokens{};
  std::vector<std::string> non_separator_tokens{};  // take precedence over separator_tokens
  std::vector<std::string> dictionary{};            // words that are cut out wherever they occur
};

class Analyzer {
 public:
  explicit Analyzer(AnalyzerSettings settings = {});

  // Appends the tokens that cover `text`.
  // locales  allowed languages; empty: any
  void Tokenize(std::string_view text, std::span<const Locale> locales, TokenBuffer& out) const;

  // Calls sink(std::string_view lemma, uint32_t position) for each word to be indexed. Positions:
  // the first word has `first_position`; each further word is 1 after the word before it, or
  // kHardSeparatorGap if a hard separator is between them. Stop words and words longer than
  // kWordBytesMax take a position but are not reported; words after kPositionMax are not reported
  // either.
  // scratch  clobbered; the lemma is valid only during the call of sink
  // Returns the position of the last word reported, nullopt if none was: a further value of the
  // same field starts kHardSeparatorGap after it.
  // cost     about 1.3 ns per byte of ASCII text; 5 ns of other Latin, 8 ns of Cyrillic, 16 ns of
  //          Japanese text
  template <typename Sink>
  std::optional<uint32_t> Words(std::string_view text, std::span<const Locale> locales,
                                uint32_t first_position, TokenBuffer& scratch, Sink&& sink) const;

  // The number of bytes to highlight when `lemma_bytes` bytes of the lemma match: the length of the
  // shortest run of original characters, from token.begin, whose normalised bytes add up to at
  // least `lemma_bytes`. Combining marks that normalise to nothing stay with the character before
  // them; the whole token when lemma_bytes reaches the end of the lemma. REQUIRES: token was made
  // from `text`.
  uint32_t OriginalPrefix(std::string_view text, const Token& token, uint32_t lemma_bytes) const;

 private:
  // What may begin with a byte.
  enum ByteClass : uint8_t {
    kSeparatorByte = 1,  // an ASCII separator
    kStringByte = 2,     // a string of strings_
    kControlByte = 4,    // a control character, to be removed
    kHighByte = 8,       // a character that is not ASCII
  };
  // A text other than one ASCII character at which text is cut.
  struct CutString {
    std::string text;
    TokenKind kind;  // kind of a token whose decomposed form is `text`
    bool ascii;      // no control characters either: the token is its own decomposed form
  };
  struct Group {
    std::string_view text;  // the whole text
    Script script;
    uint8_t folding;
    bool words_only;  // soft separators are left out
  };
  struct StringHash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  using StringSet = std::unordered_set<std::string, StringHash, std::equal_to<>>;
  void Cut(std::string_view text, std::span<const Locale> locales, bool words_only,
           TokenBuffer& out) const;
  void CutGroup(const Group& group, size_t begin, size_t end, TokenBuffer& out) const;
  // What the characters of a piece read so far have in common.
  enum class Content : uint8_t {
    kAscii,   // ASCII without controls
    kStable,  // its own lossless form; not a separator, or it would have been cut out
    kAny,
  };
  void AddPiece(const Group& group, size_t begin, size_t end, Content content,
                TokenBuffer& out) const;
  void AddCharacters(const Group& group, size_t begin, size_t end, Content content,
                     TokenBuffer& out) const;
  // Adds a token that is ASCII without controls.
  void AddAscii(const Group& group, size_t begin, size_t end, TokenKind kind,
                TokenBuffer& out) const;
  void AddToken(const Group& group, size_t begin, size_t end, bool unspaced, Content content,
                LossyState* state, TokenBuffer& out) const;
  const CutString* MatchString(std::string_view text) const;
  bool IsStopWord(std::string_view lossless) const;
  void AddString(std::string text, TokenKind kind);
  // Whether a token is a word or a separator.
  TokenKind Judge(std::string_view lossless) const;

  template <typename Sink>
  std::optional<uint32_t> AsciiWords(std::string_view text, uint32_t first_position,
                                     const TokenBuffer& scratch, Sink&& sink) const;

  std::array<uint8_t, 256> byte_classes_{};
  std::array<TokenKind, 128> ascii_kinds_{};
  std::array<std::vector<CutString>, 256> strings_;  // by first byte, in byte order
  StringSet removed_;                                // default separators that the settings remove
  // ASCII text is cut only at single characters, ", " and ". ", and all of these are separators.
  bool ascii_is_plain_;
  AsciiBlocks ascii_blocks_;  // the separators that are one ASCII character

  StringSet stop_words_;
  std::array<uint64_t, 256> stop_lengths_{};  // by first byte: bit min(length, 63)
};

inline bool Analyzer::IsStopWord(std::string_view lossless) const {
  if (lossless.empty()) return false;
  const uint64_t lengths = stop_lengths_[static_cast<uint8_t>(lossless[0])];
  if (!(lengths >> (lossless.size() < 63 ? lossless.size() : 63) & 1)) return false;
  return stop_words_.contains(lossless);
}

// Reads the masks and the lowercase text that ascii_blocks_ wrote to `scratch`.
template <typename Sink>
std::optional<uint32_t> Analyzer::AsciiWords(std::string_view text, uint32_t first_position,
                                             const TokenBuffer& scratch, Sink&& sink) const {
  const char* const lower = scratch.lemmas.data();
  const bool has_stop_words = !stop_words_.empty();
  std::optional<uint32_t> last;
  uint32_t position = first_position;
  bool any_word = false;
  bool hard = false;  // a hard separator was seen since the last word
  bool in_word = false;
  size_t word_begin = 0;
  // Returns false when no further word can be indexed.
  const auto end_word = [&](size_t end) {
    if (any_word) position += hard ? kHardSeparatorGap : 1;
    any_word = true;
    hard = false;
    if (position > kPositionMax) return false;
    const size_t size = end - word_begin;
    if (size > kWordBytesMax) return true;
    if (has_stop_words && IsStopWord(text.substr(word_begin, size))) return true;
    last = position;
    sink(std::string_view(lower + word_begin, size), position);
    return true;
  };

  for (size_t base = 0; base < text.size(); base += kAsciiBlock) {
    const AsciiBlock& block = scratch.blocks_[base / kAsciiBlock];
    uint64_t hards = block.hard;
    // The bits where a word begins and where one ends, alternately.
    uint64_t edges = block.word ^ (block.word << 1 | in_word);
    while (edges != 0) {
      const int at = std::countr_zero(edges);
      edges &= edges - 1;
      if (in_word) {
        if (!end_word(base + at)) return last;
      } else {
        word_begin = base + at;
        const uint64_t before = (uint64_t{1} << at) - 1;
        hard |= (hards & before) != 0;
        hards &= ~before;
      }
      in_word = !in_word;
    }
    hard |= hards != 0;
  }
  if (in_word) end_word(text.size());
  return last;
}

template <typename Sink>
std::optional<uint32_t> Analyzer::Words(std::string_view text, std::span<const Locale> locales,
                                        uint32_t first_position, TokenBuffer& scratch,
                                        Sink&& sink) const {
  if (ascii_is_plain_) {
    const size_t blocks = (text.size() + kAsciiBlock - 1) / kAsciiBlock;
    if (scratch.lemmas.size() < blocks * kAsciiBlock) scratch.lemmas.resize(blocks * kAsciiBlock);
    if (scratch.blocks_.size() < blocks) scratch.blocks_.resize(blocks);
    if (ascii_blocks_.Classify(text, scratch.lemmas.data(), scratch.blocks_.data())) {
      return AsciiWords(text, first_position, scratch, sink);
    }
  }

  scratch.Clear();
  Cut(text, locales, /*words_only=*/true, scratch);
  std::optional<uint32_t> last;
  uint32_t position = first_position;
  bool any_word = false;
  bool hard = false;
  for (const Token& token : scratch.tokens) {
    if (token.kind > TokenKind::kStopWord) {
      hard |= token.kind == TokenKind::kHardSeparator;
      continue;
    }
    if (any_word) position += hard ? kHardSeparatorGap : 1;
    any_word = true;
    hard = false;
    if (position > kPositionMax) break;
    if (token.kind == TokenKind::kStopWord || token.lemma_size > kWordBytesMax) continue;
    last = position;
    sink(scratch.lemma(token), position);
  }
  return last;
}

}  // namespace gannet::text
