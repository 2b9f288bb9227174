#include "base/json_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/json.h"

namespace gannet::json {

size_t SkipString(std::string_view text, size_t at) {
  ++at;
  while (at < text.size()) {
    const auto* quote =
        static_cast<const char*>(std::memchr(text.data() + at, '"', text.size() - at));
    if (quote == nullptr) return text.size();
    const size_t found = static_cast<size_t>(quote - text.data());
    size_t slashes = 0;
    while (found - slashes > at && text[found - slashes - 1] == '\\') ++slashes;
    if (slashes % 2 == 0) return found + 1;
    at = found + 1;
  }
  return text.size();
}

// The number of bytes searched for the end of an array of numbers: nested arrays must not each
// search all the text that follows.
constexpr size_t kNumbersBytesMax = 1 << 20;

// The offset after the array at text[at] if it holds only numbers, as embeddings do; else 0. Ten
// times as fast as reading byte by byte.
static size_t SkipNumbers(std::string_view text, size_t at) {
  const size_t first = SkipSpace(text, at + 1);
  if (first >= text.size() || (text[first] != '-' && (text[first] < '0' || text[first] > '9')))
    return 0;
  const auto* close = static_cast<const char*>(
      std::memchr(text.data() + first, ']', std::min(text.size() - first, kNumbersBytesMax)));
  if (close == nullptr) return 0;
  const auto size = static_cast<size_t>(close - text.data()) - first;
  for (const char open : {'"', '[', '{'}) {
    if (std::memchr(text.data() + first, open, size) != nullptr) return 0;
  }
  return first + size + 1;
}

size_t SkipValue(std::string_view text, size_t at) {
  if (at >= text.size()) return at;
  const char first = text[at];
  if (first == '"') return SkipString(text, at);
  if (first == '[') {
    if (const size_t end = SkipNumbers(text, at); end != 0) return end;
  }
  if (first == '{' || first == '[') {
    size_t depth = 1;
    ++at;
    while (at < text.size()) {
      switch (text[at]) {
        case '"': at = SkipString(text, at); continue;
        case '[':
          if (const size_t end = SkipNumbers(text, at); end != 0) {
            at = end;
            continue;
          }
          ++depth;
          break;
        case '{': ++depth; break;
        case '}':
        case ']':
          if (--depth == 0) return at + 1;
          break;
        default: break;
      }
      ++at;
    }
    return at;
  }
  while (at < text.size() && text[at] != ',' && text[at] != '}' && text[at] != ']' &&
         text[at] != ' ' && text[at] != '\n' && text[at] != '\r' && text[at] != '\t') {
    ++at;
  }
  return at;
}

namespace {

uint32_t Hex4(std::string_view text, size_t at) {
  uint32_t value = 0;
  for (size_t i = at; i < at + 4 && i < text.size(); ++i) {
    const char c = text[i];
    value = value << 4 | static_cast<uint32_t>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);
  }
  return value;
}

}  // namespace

std::string_view StringValue(std::string_view value, std::string& scratch) {
  if (value.size() < 2) return {};
  const std::string_view inner = value.substr(1, value.size() - 2);
  if (std::memchr(inner.data(), '\\', inner.size()) == nullptr) return inner;
  scratch.clear();
  for (size_t i = 0; i < inner.size(); ++i) {
    if (inner[i] != '\\') {
      scratch.push_back(inner[i]);
      continue;
    }
    if (++i == inner.size()) break;
    switch (inner[i]) {
      case 'n': scratch.push_back('\n'); break;
      case 't': scratch.push_back('\t'); break;
      case 'r': scratch.push_back('\r'); break;
      case 'b': scratch.push_back('\b'); break;
      case 'f': scratch.push_back('\f'); break;
      case 'u': {
        char32_t c = Hex4(inner, i + 1);
        i += 4;
        if (c >= 0xd800 && c < 0xdc00 && i + 6 < inner.size() && inner[i + 1] == '\\' &&
            inner[i + 2] == 'u') {
          const char32_t low = Hex4(inner, i + 3);
          if (low >= 0xdc00 && low < 0xe000) {
            c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
            i += 6;
          }
        }
        AppendUtf8(scratch, c);
        break;
      }
      default: scratch.push_back(inner[i]); break;
    }
  }
  return scratch;
}

namespace {

bool IsDigit(std::string_view text, size_t at) {
  return at < text.size() && text[at] >= '0' && text[at] <= '9';
}

// Each function moves `at` past what it reads. False: the text does not continue with that.
bool ReadString(std::string_view text, size_t& at) {
  if (at >= text.size() || text[at] != '"') return false;
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (static_cast<uint8_t>(text[at]) < 0x20) return false;
    if (text[at] != '\\') continue;
    if (++at >= text.size()) return false;
    if (text[at] == 'u') {
      if (at + 4 >= text.size()) return false;
      for (int i = 0; i < 4; ++i) {
        ++at;
        const char c = static_cast<char>(text[at] | 0x20);
        if (!IsDigit(text, at) && (c < 'a' || c > 'f')) return false;
      }
    } else if (std::string_view("\"\\/bfnrt").find(text[at]) == std::string_view::npos) {
      return false;
    }
  }
  return at++ < text.size();
}

bool ReadDigits(std::string_view text, size_t& at) {
  const size_t from = at;
  while (IsDigit(text, at)) ++at;
  return at > from;
}

bool ReadNumber(std::string_view text, size_t& at) {
  if (text[at] == '-') ++at;
  if (at < text.size() && text[at] == '0') {
    ++at;
  } else if (!ReadDigits(text, at)) {
    return false;
  }
  if (at < text.size() && text[at] == '.' && !ReadDigits(text, ++at)) return false;
  if (at < text.size() && (text[at] | 0x20) == 'e') {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    return ReadDigits(text, at);
  }
  return true;
}

// depth  how many more levels the value may nest
bool ReadValue(std::string_view text, size_t& at, int depth) {
  at = SkipSpace(text, at);
  if (at >= text.size() || depth < 0) return false;
  const char open = text[at];
  if (open == '"') return ReadString(text, at);
  if (open == '{' || open == '[') {
    const char close = open == '{' ? '}' : ']';
    at = SkipSpace(text, at + 1);
    if (at < text.size() && text[at] == close) {
      ++at;
      return true;
    }
    for (;; ++at) {
      if (open == '{') {
        at = SkipSpace(text, at);
        if (!ReadString(text, at)) return false;
        at = SkipSpace(text, at);
        if (at >= text.size() || text[at++] != ':') return false;
      }
      if (!ReadValue(text, at, depth - 1)) return false;
      at = SkipSpace(text, at);
      if (at >= text.size()) return false;
      if (text[at] == close) {
        ++at;
        return true;
      }
      if (text[at] != ',') return false;
    }
  }
  for (const std::string_view word : {"true", "false", "null"}) {
    if (!text.substr(at).starts_with(word)) continue;
    at += word.size();
    return true;
  }
  return ReadNumber(text, at);
}

}  // namespace

bool IsValid(std::string_view text, int depth_max) {
  size_t at = 0;
  return ReadValue(text, at, depth_max) && SkipSpace(text, at) == text.size();
}

double NumberValue(std::string_view value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc::result_out_of_range) {
    const bool tiny = value.find("e-") != value.npos || value.find("E-") != value.npos;
    return tiny ? 0.0 : (value[0] == '-' ? -1 : 1) * std::numeric_limits<double>::infinity();
  }
  return number;
}

namespace {

// The names in the objects that are open at an offset of a text.
class OpenNames {
 public:
  void Clear() {
    names_.clear();
    begins_.clear();
  }
  void Open() { begins_.push_back(names_.size()); }

  // `name` as written, with its quotation marks.
  void Add(std::string_view name) { names_.push_back(name); }

  // False: two members of the object have the same name, or may have, because a name is escaped.
  bool Close() {
    if (begins_.empty()) return true;
    const std::span names = std::span(names_).subspan(begins_.back());
    const bool distinct = names.size() < 2 ||
                          (Distinct(names) && std::none_of(names.begin(), names.end(), IsEscaped));
    names_.resize(begins_.back());
    begins_.pop_back();
    return distinct;
  }

 private:
  static bool IsEscaped(std::string_view name) {
    return std::memchr(name.data(), '\\', name.size()) != nullptr;
  }

  static bool Distinct(std::span<std::string_view> names) {
    // A few names are compared with each other faster than they are sorted.
    if (names.size() > 16) {
      std::sort(names.begin(), names.end());
      return std::adjacent_find(names.begin(), names.end()) == names.end();
    }
    for (auto name = names.begin(); name != names.end(); ++name) {
      if (std::find(names.begin(), name, *name) != name) return false;
    }
    return true;
  }

  std::vector<std::string_view> names_;
  std::vector<size_t> begins_;  // for each open object, where its names begin
};

// AppendMinified for objects that repeat a name, member by member.
void AppendLastMembers(std::string& out, std::string_view value) {
  bool first = true;
  const auto separate = [&] {
    if (!first) out.push_back(',');
    first = false;
  };
  if (KindOf(value) == Kind::kArray) {
    out.push_back('[');
    ForEachElement(value, [&](std::string_view element) {
      separate();
      AppendLastMembers(out, element);
    });
    out.push_back(']');
  } else if (KindOf(value) == Kind::kObject) {
    std::vector<std::pair<std::string, std::string_view>> members;
    std::unordered_map<std::string, size_t> indexes;
    ForEachMember(value, [&](std::string_view name, std::string_view member) {
      const auto [index, is_new] = indexes.try_emplace(std::string(name), members.size());
      if (is_new) {
        members.emplace_back(name, member);
      } else {
        members[index->second].second = member;
      }
    });
    out.push_back('{');
    for (const auto& [name, member] : members) {
      separate();
      AppendJsonString(out, name);
      out.push_back(':');
      AppendLastMembers(out, member);
    }
    out.push_back('}');
  } else {
    out.append(value);
  }
}

}  // namespace

void AppendMinified(std::string& out, std::string_view value) {
  const size_t begin = out.size();
  thread_local OpenNames names;  // keeps its memory
  names.Clear();
  std::string_view string;  // the one before `at`
  size_t at = 0;
  while (at < value.size()) {
    const char c = value[at];
    if (c == '"') {
      string = value.substr(at, SkipString(value, at) - at);
      out.append(string);
      at += string.size();
      continue;
    }
    ++at;
    switch (c) {
      case ' ':
      case '\n':
      case '\r':
      case '\t': continue;
      case '{': names.Open(); break;
      case ':': names.Add(string); break;
      case '}':
        if (names.Close()) break;
        out.resize(begin);
        return AppendLastMembers(out, value.substr(SkipSpace(value, 0)));
      default: break;
    }
    out.push_back(c);
  }
}

}  // namespace gannet::json
