#include "index/element_filter.h"

#include <algorithm>

#include "base/json_reader.h"
#include "base/moment.h"
#include "base/stop_point.h"
#include "base/utf8.h"
#include "filter/lexer.h"
#include "text/normalize.h"

namespace gannet::index {
namespace {

using filter::Node;
using filter::Operator;

// Calls sink(value) for each value under the dotted path in an object or in the elements of an
// array; sink returns false to stop. False: it was stopped.
template <typename Sink>
bool EachUnder(std::string_view value, std::string_view path, const Sink& sink) {
  bool going = true;
  if (json::KindOf(value) == json::Kind::kArray) {
    json::ForEachElement(
        value, [&](std::string_view item) { going = going && EachUnder(item, path, sink); });
  } else if (json::KindOf(value) == json::Kind::kObject) {
    json::ForEachMember(value, [&](std::string_view key, std::string_view member) -> bool {
      if (key == path) {
        going = sink(member);
      } else if (path.starts_with(key) && path[key.size()] == '.') {
        going = EachUnder(member, path.substr(key.size() + 1), sink);
      }
      return going;
    });
  }
  return going;
}

// The same for the numbers, strings and booleans of a value and of arrays in it.
template <typename Sink>
bool EachLeaf(std::string_view value, const Sink& sink) {
  switch (json::KindOf(value)) {
    case json::Kind::kNull:
    case json::Kind::kObject: return true;
    case json::Kind::kArray: {
      bool going = true;
      json::ForEachElement(value,
                           [&](std::string_view item) { going = going && EachLeaf(item, sink); });
      return going;
    }
    default: return sink(value);
  }
}

bool IsEmptyValue(std::string_view value) {
  bool any = false;
  switch (json::KindOf(value)) {
    case json::Kind::kString: return value.size() == 2;
    case json::Kind::kArray:
      json::ForEachElement(value, [&](std::string_view) { any = true; });
      return !any;
    case json::Kind::kObject:
      json::ForEachMember(value, [&](std::string_view, std::string_view) {
        any = true;
        return false;
      });
      return !any;
    default: return false;
  }
}

// A string or boolean as columns keep it.
std::string StringOf(std::string_view leaf) {
  std::string scratch, form;
  text::NormalizeFacet(
      json::KindOf(leaf) == json::Kind::kString ? json::StringValue(leaf, scratch) : leaf, form);
  if (form.size() > kFacetStringBytesMax) form.resize(CharacterBegin(form, kFacetStringBytesMax));
  return form;
}

std::optional<double> CoordinateOf(std::string_view object, std::string_view name) {
  std::optional<double> found;
  json::ForEachMember(object, [&](std::string_view key, std::string_view value) {
    if (key != name) return;
    std::string scratch;
    if (json::KindOf(value) == json::Kind::kNumber) found = json::NumberValue(value);
    if (json::KindOf(value) == json::Kind::kString)
      found = filter::ParseFiniteNumber(json::StringValue(value, scratch));
  });
  return found;
}

template <typename T>
void Sort(std::vector<T>& values) {
  std::sort(values.begin(), values.end());
}

}  // namespace

ElementFilter::ElementFilter(const Node& node, const Snapshot& snapshot, double now)
    : snapshot_(snapshot) {
  Prepare(node, "", now, root_);
}

void ElementFilter::Prepare(const Node& node, const std::string& parent, double now,
                            Test& out) const {
  StopPoint();
  out.node = &node;
  const std::string path = parent + node.field;
  for (const auto& child : node.children) {
    const std::string& inner = node.kind == Node::Kind::kElements ? path + "." : parent;
    Prepare(*child, inner, now, out.children.emplace_back());
  }
  switch (node.kind) {
    case Node::Kind::kCondition: PrepareCondition(path, now, out); break;
    case Node::Kind::kGeoRadius:
      out.area = filter::CircleShape(node.points[0], node.metres, node.resolution);
      break;
    case Node::Kind::kGeoBoundingBox:
      out.area = filter::BoxShape(node.points[0], node.points[1]);
      break;
    case Node::Kind::kGeoPolygon: out.area = filter::PolygonShape(node.points); break;
    default: break;
  }
}

void ElementFilter::PrepareCondition(const std::string& path, double now, Test& test) const {
  const Node& node = *test.node;
  test.known = snapshot_.fields->Find(path).has_value();
  for (const filter::Value& value : node.values) {
    StopPoint();
    Literal literal(value);
    test.strings.push_back(std::move(literal.string));
    test.numbers.push_back(literal.number);
    if (literal.number) test.equal_numbers.push_back(*literal.number);
  }
  const auto rule = snapshot_.settings->Filterable(path);
  test.dates = rule && rule->first.date && node.op <= Operator::kIn;
  if (test.dates) test.moments = MomentsOf(node, now);
  if (IsEquality(node.op)) {
    Sort(test.strings);
    Sort(test.equal_numbers);
    Sort(test.moments);
  }
}

bool ElementFilter::Passes(const std::vector<segment::RowField>& row) const {
  const std::string_view path = root_.node->field;
  for (const segment::RowField& field : row) {
    const std::string& name = snapshot_.fields->name(field.field);
    if (name == path) {
      if (AnyElement(root_.children[0], field.value)) return true;
    } else if (path.starts_with(name) && path[name.size()] == '.') {
      const bool none = EachUnder(field.value, path.substr(name.size() + 1), [&](auto value) {
        return !AnyElement(root_.children[0], value);
      });
      if (!none) return true;
    }
  }
  return false;
}

bool ElementFilter::AnyElement(const Test& test, std::string_view value) {
  if (json::KindOf(value) == json::Kind::kObject) return Passes(test, value);
  if (json::KindOf(value) != json::Kind::kArray) return false;
  bool any = false;
  json::ForEachElement(value, [&](std::string_view item) { any = any || AnyElement(test, item); });
  return any;
}

bool ElementFilter::Passes(const Test& test, std::string_view object) {
  const auto passes = [&](const Test& child) { return Passes(child, object); };
  switch (test.node->kind) {
    case Node::Kind::kAnd: return std::all_of(test.children.begin(), test.children.end(), passes);
    case Node::Kind::kOr: return std::any_of(test.children.begin(), test.children.end(), passes);
    case Node::Kind::kNot: return !passes(test.children[0]);
    case Node::Kind::kElements:
      return !EachUnder(object, test.node->field,
                        [&](auto value) { return !AnyElement(test.children[0], value); });
    case Node::Kind::kCondition: return test.known && Condition(test, object);
    default: return Geo(test, object);
  }
}

bool ElementFilter::Condition(const Test& test, std::string_view object) {
  const auto any = [&](const auto& each) { return !EachUnder(object, test.node->field, each); };
  switch (test.node->op) {
    case Operator::kExists: return any([](auto) { return false; });
    case Operator::kIsNull:
      return any([](auto value) { return json::KindOf(value) != json::Kind::kNull; });
    case Operator::kIsEmpty: return any([](auto value) { return !IsEmptyValue(value); });
    case Operator::kStartsWith:
      if (test.strings[0].empty()) return any([](auto) { return false; });
      break;
    default: break;
  }
  const bool passes = any([&](std::string_view value) {
    return EachLeaf(value, [&](std::string_view leaf) { return !Compares(test, leaf); });
  });
  return passes != (test.node->op == Operator::kNotEqual);
}

bool ElementFilter::Equals(const Test& test, std::optional<double> number, std::string_view string,
                           std::optional<double> moment) {
  const auto has = [](const auto& sorted, const auto& value) {
    return std::binary_search(sorted.begin(), sorted.end(), value);
  };
  if (moment && has(test.moments, *moment)) return true;
  return number ? has(test.equal_numbers, *number) : has(test.strings, string);
}

bool ElementFilter::Compares(const Test& test, std::string_view leaf) {
  const Operator op = test.node->op;
  std::optional<double> number, moment;
  std::string string;
  if (json::KindOf(leaf) == json::Kind::kNumber) {
    number = json::NumberValue(leaf);
  } else {
    string = StringOf(leaf);
    if (string.empty()) return false;  // not a value
  }
  if (test.dates) moment = number ? number : ParseDate(string);
  if (IsEquality(op)) return Equals(test, number, string, moment);
  if (op == Operator::kContains) return !number && string.find(test.strings[0]) != string.npos;
  if (op == Operator::kStartsWith) return !number && string.starts_with(test.strings[0]);
  // The order of the value and the operand `i`; nullopt: they cannot be compared.
  const auto order = [&](size_t i) -> std::optional<int> {
    const auto of = [](const auto& a, const auto& b) { return a < b ? -1 : a > b ? 1 : 0; };
    if (test.dates) return moment ? std::optional(of(*moment, test.moments[i])) : std::nullopt;
    if (!number) return of(string, test.strings[i]);
    return test.numbers[i] ? std::optional(of(*number, *test.numbers[i])) : std::nullopt;
  };
  const auto first = order(0);
  if (!first) return false;
  switch (op) {
    case Operator::kGreater: return *first > 0;
    case Operator::kGreaterEqual: return *first >= 0;
    case Operator::kLess: return *first < 0;
    case Operator::kLessEqual: return *first <= 0;
    default: {  // kBetween
      const auto last = order(1);
      return last && *first >= 0 && *last <= 0;
    }
  }
}

bool ElementFilter::Geo(const Test& test, std::string_view object) {
  const Node& node = *test.node;
  bool passes = false;
  json::ForEachMember(object, [&](std::string_view key, std::string_view value) {
    if (json::KindOf(value) != json::Kind::kObject) return;
    if (key == "_geojson") {
      const auto shape = filter::ParseGeoJson(value);
      passes = passes || (shape.ok() && filter::Intersects(test.area, *shape));
    } else if (key == "_geo") {
      const auto lat = CoordinateOf(value, "lat"), lng = CoordinateOf(value, "lng");
      if (!lat || !lng) return;
      const filter::GeoPoint point{.lat = *lat, .lng = *lng};
      if (node.kind == Node::Kind::kGeoRadius)
        passes = passes || filter::HaversineMetres(node.points[0], point) <= node.metres;
      if (node.kind == Node::Kind::kGeoBoundingBox)
        passes = passes || filter::BoxOf(node.points[0], node.points[1]).Contains(point);
    }
  });
  return passes;
}

}  // namespace gannet::index
