// Writing JSON text (RFC 8259) onto the end of a string.
//
// Strings come out with as few escapes as the RFC allows: quotation mark, backslash and the control
// characters below U+0020; '/', DEL, U+2028 and everything beyond ASCII stay as they are. Numbers
// look as JavaScript prints them (ECMA-262, Number::toString): the shortest digits that read back
// to the same double, integral values without a fraction, exponents only outside [1e-6, 1e21).
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gannet {

// Appends `utf8` in quotation marks. Bytes of 0x80 and above are copied unchecked.
// cost  eight bytes per step where nothing needs an escape.
void AppendJsonString(std::string& out, std::string_view utf8);

// Appends the inside of the string only, without quotation marks, for texts composed of several
// pieces.
void AppendJsonEscaped(std::string& out, std::string_view utf8);

// -0 prints as 0. JSON has no NaN and no infinities: they print as null.
void AppendJsonNumber(std::string& out, double value);
// The same, with a fraction even where the value is whole (1.0), for values that the API defines as
// floats: typed clients expect one.
void AppendJsonFloat(std::string& out, double value);
// An array of single-precision floats, each the shortest text that reads back to the same value.
void AppendJsonFloats(std::string& out, std::span<const float> values);

void AppendJsonInteger(std::string& out, int64_t value);
void AppendJsonInteger(std::string& out, uint64_t value);

// Exact for every integer type. A template, so that an int is not silently converted to a double.
template <std::integral T>
requires(!std::same_as<T, bool>) void AppendJsonNumber(std::string& out, T value) {
  if constexpr (std::signed_integral<T>) {
    AppendJsonInteger(out, static_cast<int64_t>(value));
  } else {
    AppendJsonInteger(out, static_cast<uint64_t>(value));
  }
}

}  // namespace gannet
