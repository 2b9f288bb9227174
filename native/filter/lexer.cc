#include "filter/lexer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "base/utf8.h"

namespace gannet::filter {
namespace {

constexpr std::string_view kReserved[] = {
    "AND",   "OR",       "NOT",    "IN",   "TO",         "EXISTS",          "IS",         "NULL",
    "EMPTY", "CONTAINS", "STARTS", "WITH", "_geoRadius", "_geoBoundingBox", "_geoPolygon"};

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The value of text[at, at + count) as hexadecimal digits, or -1.
int64_t Hex(std::string_view text, size_t at, size_t count) {
  if (count == 0 || count > 8 || at + count > text.size()) return -1;
  int64_t value = 0;
  for (size_t i = at; i < at + count; ++i) {
    const int digit = HexDigit(text[i]);
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

// Reads the escape at inside[at], which is a backslash, appends its character and moves `at` past
// it. False if it is not a valid escape.
bool Unescape(std::string_view inside, size_t& at, std::string& out) {
  if (at + 1 >= inside.size()) return false;
  const char c = inside[at + 1];
  size_t length = 2;
  int64_t value = -1;
  switch (c) {
    case '\\':
    case '\'':
    case '"': value = c; break;
    case 'b': value = '\b'; break;
    case 'f': value = '\f'; break;
    case 'n': value = '\n'; break;
    case 'r': value = '\r'; break;
    case 't': value = '\t'; break;
    case 'x':
      value = Hex(inside, at + 2, 2);
      length = 4;
      break;
    case 'u':
      if (at + 2 < inside.size() && inside[at + 2] == '{') {
        const size_t close = inside.find('}', at);
        if (close == inside.npos) return false;
        value = Hex(inside, at + 3, close - at - 3);
        length = close + 1 - at;
      } else {
        value = Hex(inside, at + 2, 4);
        length = 6;
      }
      break;
    default: {
      // Octal, up to \377: three digits if the first is 0 to 3, else two.
      if (c < '0' || c > '7') return false;
      const size_t digits_max = c <= '3' ? 3 : 2;
      value = 0;
      size_t digits = 0;
      while (digits < digits_max && at + 1 + digits < inside.size() &&
             inside[at + 1 + digits] >= '0' && inside[at + 1 + digits] <= '7') {
        value = value * 8 + (inside[at + 1 + digits++] - '0');
      }
      length = 1 + digits;
    }
  }
  if (value < 0 || value > 0x10ffff || (value >= 0xd800 && value < 0xe000)) return false;
  AppendUtf8(out, static_cast<char32_t>(value));
  at += length;
  return true;
}

}  // namespace

bool IsWordChar(char32_t c) {
  if (c < 0x80) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           c == '-' || c == '.';
  }
  return IsUnicodeAlphanumeric(c);
}

bool IsReservedWord(std::string_view word) {
  return std::find(std::begin(kReserved), std::end(kReserved), word) != std::end(kReserved);
}

bool Lexer::SkipSpace() {
  const size_t start = at_;
  while (!Done() && IsSpace(source_[at_])) ++at_;
  return at_ != start;
}

bool Lexer::Take(std::string_view symbol) {
  if (!Rest().starts_with(symbol)) return false;
  at_ += symbol.size();
  return true;
}

std::string_view Lexer::PeekWord() const {
  size_t end = at_;
  while (end < source_.size()) {
    size_t next = end;
    if (!IsWordChar(DecodeUtf8(source_, next))) break;
    end = next;
  }
  return source_.substr(at_, end - at_);
}

bool Lexer::TakeKeyword(std::string_view keyword) {
  if (!Rest().starts_with(keyword) || PeekWord() != keyword) return false;
  at_ += keyword.size();
  return true;
}

std::string Lexer::Found() const {
  if (Done()) return "the end of the filter";
  std::string_view found = PeekWord();
  if (found.empty()) {
    size_t end = at_;
    DecodeUtf8(source_, end);
    found = source_.substr(at_, end - at_);
  }
  return "`" + std::string(found) + "`";
}

Result<Value> Lexer::TakeValue() {
  if (Peek() == '"' || Peek() == '\'') return TakeQuoted();
  const std::string_view word = PeekWord();
  if (word.empty()) {
    const size_t start = at_;
    size_t end = at_;
    if (!Done()) DecodeUtf8(source_, end);
    return FilterError("A value is missing: found " + Found() + ".", SpanOf(start, end), source_);
  }
  if (IsReservedWord(word)) {
    return FilterError(
        "`" + std::string(word) +
            "` is a reserved word. To use it as a field or a value, put it in quotation marks.",
        SpanOf(at_, at_ + word.size()), source_);
  }
  Value value;
  value.text = word;
  value.number = ParseFiniteNumber(word);
  value.span = SpanOf(at_, at_ + word.size());
  at_ += word.size();
  return value;
}

Result<Value> Lexer::TakeQuoted() {
  const char quote = Peek();
  const size_t start = at_;
  size_t close = at_ + 1;
  while (close < source_.size() && source_[close] != quote) close += source_[close] == '\\' ? 2 : 1;
  if (close >= source_.size()) {
    return FilterError(std::string("The quotation mark `") + quote + "` is not closed.",
                       SpanOf(start, source_.size()), source_);
  }
  const std::string_view inside = source_.substr(start + 1, close - start - 1);
  Value value;
  for (size_t i = 0; i < inside.size();) {
    if (inside[i] != '\\') {
      value.text.push_back(inside[i++]);
      continue;
    }
    const size_t escape = i;
    if (!Unescape(inside, i, value.text)) {
      size_t end = std::min(escape + 1, inside.size());
      if (end < inside.size()) DecodeUtf8(inside, end);
      return FilterError("`" + std::string(inside.substr(escape, end - escape)) +
                             "` does not begin a valid escape.",
                         SpanOf(start + 1 + escape, start + 1 + end), source_);
    }
  }
  at_ = close + 1;
  value.number = ParseFiniteNumber(value.text);
  value.span = SpanFrom(start);
  return value;
}

std::optional<Value> Lexer::TakeNumber() {
  size_t end = at_;
  const auto part = [](char c) {
    return (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E';
  };
  while (end < source_.size() && part(source_[end])) ++end;
  Value value;
  value.text = source_.substr(at_, end - at_);
  value.number = ParseFiniteNumber(value.text);
  if (!value.number) return std::nullopt;
  value.span = SpanOf(at_, end);
  at_ = end;
  return value;
}

uint32_t Lexer::CharsBefore(size_t byte) const {
  const auto [low, high] = std::minmax(byte, counted_bytes_);
  const auto between = static_cast<uint32_t>(CountChars(source_.substr(low, high - low)));
  counted_chars_ = byte < counted_bytes_ ? counted_chars_ - between : counted_chars_ + between;
  counted_bytes_ = byte;
  return counted_chars_;
}

Span Lexer::SpanOf(size_t start, size_t end) const {
  Span span;
  span.start = 1 + CharsBefore(start);
  span.end = 1 + CharsBefore(end);
  return span;
}

std::optional<double> ParseFiniteNumber(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;
  }
  double number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ptr != text.data() + text.size()) return std::nullopt;
  if (read.ec == std::errc::result_out_of_range) {
    number = std::strtod(std::string(text).c_str(), nullptr);  // zero or infinite
  } else if (read.ec != std::errc()) {
    return std::nullopt;
  }
  if (!std::isfinite(number)) return std::nullopt;
  return number + 0.0;  // -0 is zero
}

}  // namespace gannet::filter
