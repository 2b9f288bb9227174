// Walking JSON text that is known to be valid (it was checked on receipt), without building a tree.
//
// A value is a slice of the text. Strings are decoded only when they are read. About 1 GB/s.
//
// REQUIRES of every function: the text is one valid JSON value; malformed text gives wrong slices,
// but never a read outside of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/utf8.h"

namespace gannet::json {

enum class Kind : uint8_t { kNull, kBoolean, kNumber, kString, kArray, kObject };

inline size_t SkipSpace(std::string_view text, size_t at) {
  while (at < text.size() &&
         (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t'))
    ++at;
  return at;
}

// text[at] is the opening quote; returns the offset after the closing one.
size_t SkipString(std::string_view text, size_t at);
// The offset after the value that begins at text[at].
size_t SkipValue(std::string_view text, size_t at);

inline Kind KindOf(std::string_view value) {
  switch (value.empty() ? 'n' : value[0]) {
    case '{': return Kind::kObject;
    case '[': return Kind::kArray;
    case '"': return Kind::kString;
    case 't':
    case 'f': return Kind::kBoolean;
    case 'n': return Kind::kNull;
    default: return Kind::kNumber;
  }
}

// Whether `text` is one JSON value (RFC 8259) and nothing else. UTF-8 is not checked.
// depth_max  the limit of nesting, which is read recursively
bool IsValid(std::string_view text, int depth_max = 1000);

// The characters of a string value. Without escapes it is a slice of `value`, otherwise it is
// decoded into `scratch`; valid until either changes.
std::string_view StringValue(std::string_view value, std::string& scratch);

// The nearest double; infinite where it overflows.
double NumberValue(std::string_view value);

// Calls sink(key, value) for each member of an object, in order, repeated keys included. `key` is
// decoded and valid during the call. The sink returns void, or bool: false stops.
template <typename Sink>
void ForEachMember(std::string_view object, Sink&& sink) {
  std::string scratch;
  size_t at = SkipSpace(object, 1);
  while (at < object.size() && object[at] == '"') {
    const size_t key_end = SkipString(object, at);
    const std::string_view key = StringValue(object.substr(at, key_end - at), scratch);
    at = SkipSpace(object, key_end);
    at = SkipSpace(object, at + 1);
    if (at >= object.size()) return;
    const size_t end = SkipValue(object, at);
    if constexpr (std::is_same_v<decltype(sink(key, object)), bool>) {
      if (!sink(key, object.substr(at, end - at))) return;
    } else {
      sink(key, object.substr(at, end - at));
    }
    at = SkipSpace(object, end);
    if (at >= object.size() || object[at] != ',') return;
    at = SkipSpace(object, at + 1);
  }
}

template <typename Sink>
void ForEachElement(std::string_view array, Sink&& sink) {
  size_t at = SkipSpace(array, 1);
  while (at < array.size() && array[at] != ']') {
    const size_t end = SkipValue(array, at);
    sink(array.substr(at, end - at));
    at = SkipSpace(array, end);
    if (at >= array.size() || array[at] != ',') return;
    at = SkipSpace(array, at + 1);
  }
}

// Appends `value` without white space between tokens. If an object repeats a name, only the last of
// these members is appended, at the position of the first.
void AppendMinified(std::string& out, std::string_view value);

}  // namespace gannet::json
