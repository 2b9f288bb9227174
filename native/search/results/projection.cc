#include "search/results/projection.h"

#include <algorithm>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/long_text.h"
#include "base/stop_point.h"

namespace gannet::search {
namespace {

bool ListsAll(const std::optional<std::vector<std::string>>& names) {
  return !names || std::find(names->begin(), names->end(), "*") != names->end();
}

bool IsContainer(std::string_view value) {
  return json::KindOf(value) == json::Kind::kObject || json::KindOf(value) == json::Kind::kArray;
}

void AppendKey(std::string& out, bool& first, std::string_view key) {
  if (!first) out.push_back(',');
  first = false;
  AppendJsonString(out, key);
  out.push_back(':');
}

bool AnyBelow(const index::FieldMap& fields, std::string_view name) {
  for (size_t field = 0; field < fields.size(); ++field) {
    if (index::Covers(name, fields.name(static_cast<FieldId>(field)))) return true;
  }
  return false;
}

class Reducer {
 public:
  Reducer(const Projection& projection, std::string& out) : projection_(projection), out_(out) {}

  // REQUIRES: the projection covers part of `path`, and value is an object or an array.
  void Append(std::string& path, std::string_view value) {
    if (json::KindOf(value) == json::Kind::kObject) {
      AppendObject(path, value);
    } else {
      AppendArray(path, value);
    }
  }

 private:
  void AppendObject(std::string& path, std::string_view object) {
    out_.push_back('{');
    bool first = true;
    const size_t parent = path.size();
    json::ForEachMember(object, [&](std::string_view key, std::string_view value) {
      steps_.Step(64);
      path.resize(parent);
      path.push_back('.');
      path += key;
      const Cover cover = projection_.Of(path);
      if (cover == Cover::kNone || (cover == Cover::kPart && !IsContainer(value))) return;
      AppendKey(out_, first, key);
      if (cover == Cover::kWhole) {
        AppendLong(value, out_);
      } else {
        Append(path, value);
      }
    });
    path.resize(parent);
    out_.push_back('}');
  }

  void AppendArray(std::string& path, std::string_view array) {
    out_.push_back('[');
    bool first = true;
    json::ForEachElement(array, [&](std::string_view value) {
      steps_.Step(16);
      if (!first) out_.push_back(',');
      first = false;
      if (IsContainer(value)) {
        Append(path, value);
      } else {
        out_ += value;
      }
    });
    out_.push_back(']');
  }

  const Projection& projection_;
  std::string& out_;
  StopCounter steps_;
};

}  // namespace

Projection Projection::ForSearch(const std::optional<std::vector<std::string>>& retrieve,
                                 const std::optional<std::vector<std::string>>& displayed,
                                 const index::FieldMap& fields) {
  Projection projection;
  const bool any_retrieved = ListsAll(retrieve), any_displayed = ListsAll(displayed);
  if (any_retrieved && any_displayed) {
    projection.all_ = true;
    return projection;
  }
  std::vector<std::string>& names = projection.names_;
  names = any_retrieved ? *displayed : *retrieve;
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  projection.covering_ = any_retrieved;
  std::erase_if(names, [&](const std::string& name) {
    StopPoint();
    if (!fields.Find(name)) return !any_retrieved || !AnyBelow(fields, name);
    return !any_displayed &&
           std::find(displayed->begin(), displayed->end(), name) == displayed->end();
  });
  return projection;
}

Projection Projection::ForDocuments(const std::optional<std::vector<std::string>>& names,
                                    const index::FieldMap& fields) {
  Projection projection;
  projection.all_ = ListsAll(names);
  if (projection.all_) return projection;
  projection.names_ = *names;
  std::erase_if(projection.names_, [&](const std::string& name) { return !fields.Find(name); });
  std::sort(projection.names_.begin(), projection.names_.end());
  const auto last = std::unique(projection.names_.begin(), projection.names_.end());
  projection.names_.erase(last, projection.names_.end());
  return projection;
}

Cover Projection::Of(std::string_view path) const {
  if (all_) return Cover::kWhole;
  for (size_t dot = path.find('.'); covering_ && dot != path.npos; dot = path.find('.', dot + 1)) {
    if (std::binary_search(names_.begin(), names_.end(), path.substr(0, dot))) return Cover::kWhole;
  }
  auto name = std::lower_bound(names_.begin(), names_.end(), path);
  if (name == names_.end()) return Cover::kNone;
  if (*name == path) return Cover::kWhole;
  // Names that begin with `path` are adjacent, but `a-b` sorts before `a.b`.
  StopCounter steps;
  for (; name != names_.end() && name->starts_with(path); ++name) {
    steps.Step();
    if ((*name)[path.size()] == '.') return Cover::kPart;
  }
  return Cover::kNone;
}

void AppendProjected(std::span<const segment::RowField> row, const index::FieldMap& fields,
                     const Projection& projection, bool& first, std::string& out) {
  std::string path;
  for (const segment::RowField& field : row) {
    StopPoint();
    const std::string& name = fields.name(field.field);
    const Cover cover = projection.Of(name);
    if (cover == Cover::kNone || (cover == Cover::kPart && !IsContainer(field.value))) continue;
    if (name == "_vectors") continue;
    AppendKey(out, first, name);
    if (cover == Cover::kWhole) {
      AppendLong(field.value, out);
    } else {
      path = name;
      Reducer(projection, out).Append(path, field.value);
    }
  }
}

}  // namespace gannet::search
