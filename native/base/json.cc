#include "base/json.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

namespace gannet {
namespace {

constexpr uint64_t kOnes = 0x0101010101010101;
constexpr uint64_t kHighs = 0x8080808080808080;

// True if one of the eight bytes is below 0x20, a quotation mark or a backslash (the "has zero
// byte" trick: a byte borrows into its high bit only if it was smaller than what is subtracted and
// had no high bit itself).
inline bool NeedsEscape(uint64_t bytes) {
  const uint64_t quote = bytes ^ (kOnes * '"');
  const uint64_t backslash = bytes ^ (kOnes * '\\');
  const uint64_t control = (bytes - kOnes * 0x20) & ~bytes;
  return (((quote - kOnes) & ~quote) | ((backslash - kOnes) & ~backslash) | control) & kHighs;
}

inline bool NeedsEscape(char c) { return static_cast<uint8_t>(c) < 0x20 || c == '"' || c == '\\'; }

void AppendEscape(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  constexpr char kHex[] = "0123456789abcdef";
  const char escape[6] = {'\\', 'u', '0', '0', kHex[static_cast<uint8_t>(c) >> 4], kHex[c & 15]};
  out.append(escape, 6);
}

}  // namespace

void AppendJsonEscaped(std::string& out, std::string_view utf8) {
  const char* at = utf8.data();
  const char* const end = at + utf8.size();
  const char* plain = at;  // start of the run not yet copied
  while (at != end) {
    if (end - at >= 8) {
      uint64_t bytes;
      std::memcpy(&bytes, at, 8);
      if (!NeedsEscape(bytes)) {
        at += 8;
        continue;
      }
    }
    while (at != end && !NeedsEscape(*at)) ++at;
    if (at == end) break;
    out.append(plain, at);
    AppendEscape(out, *at++);
    plain = at;
  }
  out.append(plain, end);
}

void AppendJsonString(std::string& out, std::string_view utf8) {
  out.push_back('"');
  AppendJsonEscaped(out, utf8);
  out.push_back('"');
}

void AppendJsonInteger(std::string& out, int64_t value) {
  char text[20];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

void AppendJsonInteger(std::string& out, uint64_t value) {
  char text[20];
  out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
}

void AppendJsonFloat(std::string& out, double value) {
  const size_t begin = out.size();
  AppendJsonNumber(out, value);
  if (out.find_first_of(".en", begin) == out.npos) out += ".0";
}

void AppendJsonFloats(std::string& out, std::span<const float> values) {
  char text[32];
  char open = '[';
  for (const float value : values) {
    out += std::exchange(open, ',');
    const size_t begin = out.size();
    out.append(text, std::to_chars(text, text + sizeof text, value).ptr);
    if (out.find_first_of(".e", begin) == out.npos) out += ".0";
  }
  out += values.empty() ? "[]" : "]";
}

void AppendJsonNumber(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  // Within 2^53 every integral double is its own integer; the common case, and it drops the sign of
  // -0.
  if (std::fabs(value) <= 9007199254740992.0 && value == std::trunc(value)) {
    AppendJsonInteger(out, static_cast<int64_t>(value));
    return;
  }
  // Get the shortest form d.ddde[+-]xx, then format it again: digits d1..dk and n with value =
  // 0.d1..dk * 10^n.
  char text[32];
  const char* const text_end =
      std::to_chars(text, text + sizeof text, value, std::chars_format::scientific).ptr;
  const char* at = text;
  if (*at == '-') {
    out.push_back('-');
    ++at;
  }
  char digits[20];
  int k = 0;
  for (; *at != 'e'; ++at) {
    if (*at != '.') digits[k++] = *at;
  }
  ++at;
  const bool negative_exponent = *at++ == '-';
  int exponent = 0;
  for (; at != text_end; ++at) exponent = exponent * 10 + (*at - '0');
  if (negative_exponent) exponent = -exponent;
  const int n = exponent + 1;

  if (n > 21 || n < -5) {
    out.push_back(digits[0]);
    if (k > 1) {
      out.push_back('.');
      out.append(digits + 1, static_cast<size_t>(k - 1));
    }
    out += exponent < 0 ? "e-" : "e+";
    AppendJsonInteger(out, static_cast<int64_t>(std::abs(exponent)));
  } else if (n <= 0) {
    out += "0.";
    out.append(static_cast<size_t>(-n), '0');
    out.append(digits, static_cast<size_t>(k));
  } else if (k <= n) {
    out.append(digits, static_cast<size_t>(k));
    out.append(static_cast<size_t>(n - k), '0');
  } else {
    out.append(digits, static_cast<size_t>(n));
    out.push_back('.');
    out.append(digits + n, static_cast<size_t>(k - n));
  }
}

}  // namespace gannet
