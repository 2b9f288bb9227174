// Names and numbers of attribute paths, and what the settings say about each.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "index/settings.h"
#include "segment/text.h"

namespace gannet::index {

// Dotted paths numbered in order of first appearance. Paths are never removed. Value type.
class FieldMap {
 public:
  size_t size() const { return names_.size(); }
  const std::string& name(FieldId field) const { return names_[field]; }
  std::optional<FieldId> Find(std::string_view name) const;
  // The same; fast if the result is `expected`, which may be any number: most documents name their
  // fields in the same order.
  std::optional<FieldId> Find(std::string_view name, size_t expected) const {
    if (expected < names_.size() && names_[expected] == name) return static_cast<FieldId>(expected);
    return Find(name);
  }
  // expected: as above. Limit: the index has too many fields.
  Result<FieldId> Add(std::string_view name, size_t expected = 0);
  void AppendTo(std::string& out) const;
  static FieldMap Parse(std::string_view bytes);

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  std::vector<std::string> names_;
  std::unordered_map<std::string, FieldId, Hash, std::equal_to<>> ids_;
};

struct FieldTraits {
  bool searchable = false;
  bool faceted = false;
  bool elements = false;  // the objects in it are counted as elements (segment/elements.h)
  bool typo_tolerant = true;
  bool found_by_parts = false;  // a query word also matches inside its words
  uint32_t weight = 0;
  std::vector<text::Locale> locales;
};

// Traits of every field under the given settings, by field.
std::vector<FieldTraits> PlanFields(const FieldMap& fields, const Settings& settings);

// The fields in whose words a query word also matches inside.
segment::FieldSet FieldsFoundByParts(const std::vector<FieldTraits>& traits);

}  // namespace gannet::index
