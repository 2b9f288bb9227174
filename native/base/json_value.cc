#include "base/json_value.h"

#include "base/json_reader.h"
#include "base/stop_point.h"

namespace gannet::json {

Value Value::Parse(std::string_view text) { return Parse(text, 0); }

Value Value::Parse(std::string_view text, int depth) {
  Value value;
  if (depth > kValueDepthMax) return value;
  // Every level skips over the values nested deeper, so the cost of a value is counted at each.
  thread_local StopCounter counter;
  counter.Step(16 + text.size() / 8);
  const size_t begin = SkipSpace(text, 0);
  value.text_ = text.substr(begin, SkipValue(text, begin) - begin);
  std::string scratch;
  switch (json::KindOf(value.text_)) {
    case json::Kind::kNull: break;
    case json::Kind::kBoolean:
      value.kind_ = Kind::kBoolean;
      value.boolean_ = value.text_[0] == 't';
      break;
    case json::Kind::kNumber:
      value.kind_ = Kind::kNumber;
      value.number_ = NumberValue(value.text_);
      break;
    case json::Kind::kString:
      value.kind_ = Kind::kString;
      value.string_ = StringValue(value.text_, scratch);
      break;
    case json::Kind::kArray:
      value.kind_ = Kind::kArray;
      ForEachElement(value.text_, [&](std::string_view item) {
        value.items_.push_back(Parse(item, depth + 1));
      });
      break;
    case json::Kind::kObject:
      value.kind_ = Kind::kObject;
      ForEachMember(value.text_, [&](std::string_view key, std::string_view member) {
        value.members_.emplace_back(std::string(key), Parse(member, depth + 1));
      });
      break;
  }
  return value;
}

const Value& Value::operator[](std::string_view name) const {
  static const Value kAbsent;
  for (auto member = members_.rbegin(); member != members_.rend(); ++member) {
    if (member->first == name) return member->second;
  }
  return kAbsent;
}

void Value::Set(std::string_view name, Value member) {
  for (auto& [known, value] : members_) {
    if (known != name) continue;
    value = std::move(member);
    return;
  }
  members_.emplace_back(name, std::move(member));
}

bool Value::Has(std::string_view name) const {
  for (const auto& member : members_) {
    if (member.first == name) return true;
  }
  return false;
}

std::optional<std::vector<std::string>> Value::Strings() const {
  if (!is_array()) return std::nullopt;
  std::vector<std::string> strings;
  for (const Value& item : items_) {
    if (item.is_string()) strings.push_back(item.string());
  }
  return strings;
}

}  // namespace gannet::json
