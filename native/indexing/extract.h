// Extracts the words and column values of one stored document for a segment
// (docs/behaviour/fields.md).
//
// Threads: an Extractor has one owner; the field map and traits are shared and do not change while
// it is used.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "index/snapshot.h"
#include "segment/builder.h"

namespace gannet::indexing {

// Adds every dotted path of a document, parents included, in order of appearance. Limit: too many
// fields.
class FieldDiscovery {
 public:
  explicit FieldDiscovery(index::FieldMap& fields) : fields_(fields) {}
  Status Add(std::string_view document);

 private:
  Status AddMembers(std::string_view object, std::string& path);
  Status AddNested(std::string_view value, std::string& path);
  index::FieldMap& fields_;
  size_t expected_ = 0;  // one past the field that was found last
};

// The top-level members of a document as row fields, in field order. The last value of a repeated
// key counts.
void RowFieldsOf(std::string_view document, const index::FieldMap& fields,
                 std::vector<segment::RowField>& out);

class Extractor {
 public:
  Extractor(const index::FieldMap& fields, const std::vector<index::FieldTraits>& traits,
            const text::Analyzer& analyzer);

  // Adds words and column values of a document between builder.BeginDocument and EndDocument.
  void ExtractAll(std::span<const segment::RowField> row, segment::SegmentBuilder& builder);
  // Adds only column values, for the fields that `wanted` selects.
  void ExtractColumns(std::span<const segment::RowField> row, const std::vector<bool>& wanted,
                      segment::ColumnBuilder& columns);

 private:
  void Walk(FieldId field, std::string_view value, bool top);
  void Leaf(FieldId field, std::string_view value);
  FieldId Child(FieldId parent, std::string_view key);
  bool Columned(FieldId field) const {
    return wanted_ != nullptr ? (*wanted_)[field] : traits_[field].faceted;
  }

  const index::FieldMap& fields_;
  const std::vector<index::FieldTraits>& traits_;
  const text::Analyzer& analyzer_;
  segment::SegmentBuilder* builder_ = nullptr;  // null: columns only
  segment::ColumnBuilder* columns_ = nullptr;
  const std::vector<bool>* wanted_ = nullptr;
  // The position at which the next value of a field starts; valid if the stamp is that of the
  // current document.
  struct FieldCursor {
    uint32_t stamp = 0;
    uint32_t next = 0;
  };
  std::vector<FieldCursor> cursors_;
  uint32_t stamp_ = 0;
  std::vector<std::unordered_map<std::string, FieldId>> children_;
  text::TokenBuffer tokens_;
  std::string scratch_, normalised_;
  FieldId geo_lat_ = kNoField, geo_lng_ = kNoField, vectors_ = kNoField;
  static constexpr FieldId kNoField = 0xffff;
};

// Checks `_geo` of a document: null, or an object with exactly `lat` and `lng`, each a finite
// number or a string that holds one. Invalid: invalid_document_geo_field.
Status CheckGeo(std::string_view document_id, std::string_view geo);

// Checks `_geojson` of a document: null, or a valid shape. Invalid: invalid_document_geojson_field.
Status CheckGeoJson(std::string_view document_id, std::string_view shape);

// The value of a JSON number or of a string that holds one.
std::optional<double> NumberOf(std::string_view value);

}  // namespace gannet::indexing
