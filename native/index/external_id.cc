#include "index/external_id.h"

#include "base/json_reader.h"

namespace gannet::index {
namespace {

// What is left of `path` behind `name` and a dot; empty when `path` does not go on below `name`.
std::string_view Below(std::string_view path, std::string_view name) {
  return path.size() > name.size() && path.starts_with(name) && path[name.size()] == '.' ? path.substr(name.size() + 1)
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

}  // namespace

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
  if (json::KindOf(value) == json::Kind::kString) return std::string(json::StringValue(value, scratch));
  return value == "-0" ? "0" : std::string(value);
}

}  // namespace gannet::index
