// Reading a filter expression piece by piece: white space, symbols, words, quoted values.
//
// The language has no fixed tokens (`TO` is a keyword only between spaces, geo arguments are bare
// numbers), so the lexer is a cursor, and the parser asks it for what may come next. Keywords are
// upper case only. A word is a run of Unicode letters and digits, `_`, `-` and `.`; so a keyword
// always ends before a character that cannot be part of a word.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "filter/ast.h"

namespace gannet::filter {

// Letters and digits beyond ASCII.
bool IsUnicodeAlphanumeric(char32_t c);

bool IsWordChar(char32_t c);

// True for words that can be values or fields only in quotation marks.
bool IsReservedWord(std::string_view word);

class Lexer {
 public:
  // `source` is borrowed.
  explicit Lexer(std::string_view source) : source_(source) {}

  size_t at() const { return at_; }  // in bytes
  void Rewind(size_t at) { at_ = at; }
  bool Done() const { return at_ == source_.size(); }
  std::string_view source() const { return source_; }
  std::string_view Rest() const { return source_.substr(at_); }
  char Peek() const { return Done() ? '\0' : source_[at_]; }

  // Skips spaces, tabs and line ends; true if there were any.
  bool SkipSpace();

  // Consumes `symbol` if it comes next.
  bool Take(std::string_view symbol);

  // Consumes `keyword` if the next word is exactly that.
  bool TakeKeyword(std::string_view keyword);

  // The next word, without consuming it; empty: something else comes next.
  std::string_view PeekWord() const;

  // What comes next, for a message: the word, quoted value or character; "the end of the filter" at
  // the end.
  std::string Found() const;

  // Consumes a bare word or a quoted value.
  // errors  there is none, a reserved word, a quotation mark not closed, an invalid escape
  Result<Value> TakeValue();

  // Consumes a quoted value.  REQUIRES: Peek() is a quotation mark
  Result<Value> TakeQuoted();

  // Consumes a finite decimal number as in geo functions: bare, with an optional sign.
  std::optional<Value> TakeNumber();

  // The part of the source from byte `start` to the cursor, or to byte `end`.
  // cost  the distance from the bytes of the previous call: a list of a million values is still
  // read
  //       in linear time
  Span SpanFrom(size_t start) const { return SpanOf(start, at_); }
  Span SpanOf(size_t start, size_t end) const;

 private:
  uint32_t CharsBefore(size_t byte) const;

  std::string_view source_;
  size_t at_ = 0;
  mutable size_t counted_bytes_ = 0;  // the last argument of CharsBefore, and its result
  mutable uint32_t counted_chars_ = 0;
};

// `text` as a decimal floating point number; nullopt if it is not one or not finite.
std::optional<double> ParseFiniteNumber(std::string_view text);

}  // namespace gannet::filter
