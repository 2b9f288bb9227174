// What the live documents hold in each of their top-level attributes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "index/fields.h"
#include "segment/rows.h"

namespace gannet::index {

// The documents that have one attribute, and the bytes of its values as minified JSON. In a
// change of a distribution both may be negative.
struct FieldShare {
  int64_t documents = 0, bytes = 0;
  bool operator==(const FieldShare&) const = default;
};

// By top-level attribute, without `_vectors`, which is none. Value type.
class Distribution {
 public:
  // Adds a row `by` times; -1 removes it.
  void Count(std::span<const segment::RowField> row, std::optional<FieldId> vectors_field,
             int64_t by);
  // Adds another one, or a change.
  void Add(const Distribution& other);
  // Forgets attributes that no document has.
  void DropUnused();

  const std::map<FieldId, FieldShare>& shares() const { return shares_; }
  // Bytes of the documents that were counted, `documents` of them, as minified JSON objects.
  uint64_t JsonBytes(const FieldMap& fields, uint64_t documents) const;

  // The stored form (docs/internals/format.md).
  void AppendTo(std::string& out) const;
  // nullopt: an attribute is unknown, out of order, without documents or shorter than they allow.
  static std::optional<Distribution> Parse(std::string_view bytes, const FieldMap& fields);

  bool operator==(const Distribution&) const = default;

 private:
  std::map<FieldId, FieldShare> shares_;
};

}  // namespace gannet::index
