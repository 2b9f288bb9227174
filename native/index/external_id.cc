#include "index/external_id.h"

#include <algorithm>
#include <charconv>

#include "base/json_reader.h"

namespace gannet::index {
namespace {

// What follows `name` and a dot in `path`; empty if `path` does not continue below `name`.
std::string_view Below(std::string_view path, std::string_view name) {
  return path.size() > name.size() && path.starts_with(name) && path[name.size()] == '.'
             ? path.substr(name.size() + 1)
             : std::string_view();
}

void Find(std::string_view object, std::string_view path, std::string_view& found) {
  if (json::KindOf(object) != json::Kind::kObject) return;
  json::ForEachMember(object, [&](std::string_view key, std::string_view value) {
    if (key == path) {
      found = value;
    } else if (const std::string_view rest = Below(path, key); !rest.empty()) {
      Find(value, rest, found);
    }
  });
}

constexpr size_t kDigitsMax = 19;  // all numbers of this many digits fit 64 bits

bool IsNumber(std::string_view id) {
  if (id.empty() || id.size() > kDigitsMax || (id[0] == '0' && id.size() > 1)) return false;
  return std::all_of(id.begin(), id.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string ExternalIdKey(std::string_view id) {
  if (!IsNumber(id)) return std::string(id);
  uint64_t number = 0;
  std::from_chars(id.data(), id.data() + id.size(), number);
  std::string key(1, '\0');
  for (int shift = 56; shift >= 0; shift -= 8) {
    if (key.size() > 1 || shift == 0 || number >> shift != 0)
      key.push_back(static_cast<char>(number >> shift));
  }
  key[0] = static_cast<char>(key.size() - 1);
  return key;
}

std::optional<std::string> ExternalIdOfKey(std::string_view key) {
  if (key.empty()) return std::nullopt;
  std::string id(key);
  if (static_cast<uint8_t>(key[0]) < ' ') {
    uint64_t number = 0;
    for (const char byte : key.substr(1)) number = number << 8 | static_cast<uint8_t>(byte);
    id = std::to_string(number);
  }
  return ExternalIdKey(id) == key ? std::optional(id) : std::nullopt;
}

bool HasKeyBefore(std::string_view a, std::string_view b) {
  const bool a_number = IsNumber(a), b_number = IsNumber(b);
  if (a_number != b_number) return a_number;
  return a_number && a.size() != b.size() ? a.size() < b.size() : a < b;
}

std::string ExternalIdOf(std::span<const segment::RowField> row, const FieldMap& fields,
                         std::string_view primary_key) {
  std::string_view value;
  for (const segment::RowField& field : row) {
    const std::string& name = fields.name(field.field);
    if (name == primary_key) {
      value = field.value;
    } else if (const std::string_view rest = Below(primary_key, name); !rest.empty()) {
      Find(field.value, rest, value);
    }
  }
  if (value.empty()) return {};
  std::string scratch;
  if (json::KindOf(value) == json::Kind::kString)
    return std::string(json::StringValue(value, scratch));
  return value == "-0" ? "0" : std::string(value);
}

}  // namespace gannet::index
