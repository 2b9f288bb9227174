#include "indexing/extract.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/json_reader.h"
#include "base/utf8.h"
#include "filter/geo.h"
#include "indexing/vectors_field.h"

namespace gannet::indexing {
namespace {

constexpr uint32_t kValueGap = 8;  // positions between two values of one field

// Cuts a text to at most `bytes_max` bytes, between characters.
std::string_view CutUtf8(std::string_view text, size_t bytes_max) {
  return text.size() <= bytes_max ? text : text.substr(0, CharacterBegin(text, bytes_max));
}

}  // namespace

Status FieldDiscovery::Add(std::string_view document) {
  std::string path;
  expected_ = 0;
  return AddMembers(document, path);
}

Status FieldDiscovery::AddMembers(std::string_view object, std::string& path) {
  Status status;
  const size_t parent = path.size();
  json::ForEachMember(object, [&](std::string_view key, std::string_view value) -> bool {
    if (parent == 0) {
      path.assign(key);
    } else {
      path.resize(parent);
      path.push_back('.');
      path.append(key);
    }
    auto field = fields_.Add(path, expected_);
    if (field.ok()) expected_ = size_t{*field} + 1;
    // Members of `_vectors` are not attributes.
    const bool plain = parent != 0 || key != kVectorsField;
    status = !field.ok() ? field.status() : plain ? AddNested(value, path) : Status::Ok();
    path.resize(parent);
    return status.ok();
  });
  return status;
}

Status FieldDiscovery::AddNested(std::string_view value, std::string& path) {
  if (value.empty()) return Status::Ok();
  if (value[0] == '{') return AddMembers(value, path);
  if (value[0] != '[') return Status::Ok();
  Status status;
  json::ForEachElement(value, [&](std::string_view item) {
    if (status.ok()) status = AddNested(item, path);
  });
  return status;
}

void RowFieldsOf(std::string_view document, const index::FieldMap& fields,
                 std::vector<segment::RowField>& out) {
  out.clear();
  size_t expected = 0;
  json::ForEachMember(document, [&](std::string_view key, std::string_view value) {
    const auto field = fields.Find(key, expected);
    if (!field) return;
    out.push_back({*field, value});
    expected = size_t{*field} + 1;
  });
  const auto by_field = [](const auto& a, const auto& b) { return a.field < b.field; };
  if (!std::is_sorted(out.begin(), out.end(), by_field))
    std::stable_sort(out.begin(), out.end(), by_field);
  // Keeps the last of equal neighbours.
  size_t kept = 0;
  for (size_t i = 0; i < out.size(); ++i) {
    if (i + 1 < out.size() && out[i + 1].field == out[i].field) continue;
    out[kept++] = out[i];
  }
  out.resize(kept);
}

std::optional<double> NumberOf(std::string_view value) {
  std::string scratch;
  std::string_view text = value;
  if (json::KindOf(value) == json::Kind::kString) {
    text = json::StringValue(value, scratch);
  } else if (json::KindOf(value) != json::Kind::kNumber) {
    return std::nullopt;
  }
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number))
    return std::nullopt;
  return number;
}

Status CheckGeo(std::string_view document_id, std::string_view geo) {
  const auto fail = [&](const std::string& reason) {
    return Status::Invalid("The `_geo` field of the document `" + std::string(document_id) + "` " +
                               reason + ": `" + Shortened(geo) +
                               "`. Expected an object with the numbers `lat` and `lng`.",
                           "invalid_document_geo_field");
  };
  if (json::KindOf(geo) == json::Kind::kNull) return Status::Ok();
  if (json::KindOf(geo) != json::Kind::kObject) return fail("is not an object");
  std::string_view lat, lng;
  bool extra = false;
  json::ForEachMember(geo, [&](std::string_view key, std::string_view value) {
    if (key == "lat") {
      lat = value;
    } else if (key == "lng") {
      lng = value;
    } else {
      extra = true;
    }
  });
  if (lat.empty() && lng.empty()) return fail("lacks `lat` and `lng`");
  if (lat.empty()) return fail("lacks `lat`");
  if (lng.empty()) return fail("lacks `lng`");
  if (extra) return fail("has other members than `lat` and `lng`");
  if (!NumberOf(lat)) return fail("has a `lat` that is not a finite number");
  if (!NumberOf(lng)) return fail("has a `lng` that is not a finite number");
  return Status::Ok();
}

Status CheckGeoJson(std::string_view document_id, std::string_view shape) {
  const std::string which =
      "The `_geojson` field of the document `" + std::string(document_id) + "` ";
  if (json::KindOf(shape) == json::Kind::kNull) return Status::Ok();
  const auto parsed = filter::ParseGeoJson(shape);
  if (parsed.ok()) return Status::Ok();
  return Status::Invalid(which + "is not a GeoJSON object: " + parsed.status().message(),
                         "invalid_document_geojson_field");
}

Extractor::Extractor(const index::FieldMap& fields, const std::vector<index::FieldTraits>& traits,
                     const text::Analyzer& analyzer)
    : fields_(fields),
      traits_(traits),
      analyzer_(analyzer),
      cursors_(fields.size()),
      children_(fields.size()) {
  geo_lat_ = fields.Find("_geo.lat").value_or(kNoField);
  geo_lng_ = fields.Find("_geo.lng").value_or(kNoField);
  vectors_ = fields.Find(kVectorsField).value_or(kNoField);
}

FieldId Extractor::Child(FieldId parent, std::string_view key) {
  scratch_.assign(key);
  auto& children = children_[parent];
  if (const auto found = children.find(scratch_); found != children.end()) return found->second;
  const auto field = fields_.Find(fields_.name(parent) + "." + scratch_);
  const FieldId child = field.value_or(kNoField);
  children.emplace(scratch_, child);
  return child;
}

void Extractor::ExtractAll(std::span<const segment::RowField> row,
                           segment::SegmentBuilder& builder) {
  builder_ = &builder;
  columns_ = &builder.columns();
  if (geo_lat_ != kNoField && geo_lng_ != kNoField) columns_->SetPointFields(geo_lat_, geo_lng_);
  wanted_ = nullptr;
  ++stamp_;
  for (const segment::RowField& field : row) {
    if (field.field != vectors_) Walk(field.field, field.value, true);
  }
}

void Extractor::ExtractColumns(std::span<const segment::RowField> row,
                               const std::vector<bool>& wanted, segment::ColumnBuilder& columns) {
  builder_ = nullptr;
  columns_ = &columns;
  if (geo_lat_ != kNoField && geo_lng_ != kNoField) columns_->SetPointFields(geo_lat_, geo_lng_);
  wanted_ = &wanted;
  for (const segment::RowField& field : row) {
    if (field.field != vectors_) Walk(field.field, field.value, true);
  }
}

void Extractor::Walk(FieldId field, std::string_view value, bool own) {
  const bool columned = Columned(field);
  if (own && columned) columns_->MarkExists(field);
  const bool elements = columned && traits_[field].elements;
  if (elements) columns_->ExpectElements(field);
  switch (json::KindOf(value)) {
    case json::Kind::kObject: {
      bool any = false;
      const bool element = elements && columns_->BeginElement(field);
      json::ForEachMember(value, [&](std::string_view key, std::string_view member) {
        any = true;
        if (const FieldId child = Child(field, key); child != kNoField) Walk(child, member, true);
      });
      if (element) columns_->EndElement();
      if (!any && own && columned) columns_->MarkEmpty(field);
      return;
    }
    case json::Kind::kArray: {
      bool any = false;
      json::ForEachElement(value, [&](std::string_view item) {
        any = true;
        Walk(field, item, false);
      });
      if (!any && own && columned) columns_->MarkEmpty(field);
      return;
    }
    case json::Kind::kNull:
      if (own && columned) columns_->MarkNull(field);
      break;
    case json::Kind::kString:
      if (own && columned && value.size() == 2) columns_->MarkEmpty(field);
      break;
    default: break;
  }
  Leaf(field, value);
}

void Extractor::Leaf(FieldId field, std::string_view value) {
  const index::FieldTraits& traits = traits_[field];
  const json::Kind kind = json::KindOf(value);
  std::string_view text = value;
  if (kind == json::Kind::kString) text = json::StringValue(value, scratch_);
  if (Columned(field)) {
    if (kind == json::Kind::kNumber) {
      columns_->AddNumber(field, json::NumberValue(value));
    } else if (field == geo_lat_ || field == geo_lng_) {
      if (const auto number = NumberOf(value)) columns_->AddNumber(field, *number);
    } else if (kind != json::Kind::kNull) {
      text::NormalizeFacet(text, normalised_);
      const std::string_view cut = CutUtf8(normalised_, kFacetStringBytesMax);
      if (!cut.empty()) columns_->AddString(field, cut, text);
    }
  }
  if (builder_ == nullptr || !traits.searchable) return;
  FieldCursor& cursor = cursors_[field];
  if (cursor.stamp != stamp_) cursor = {stamp_, 0};
  if (kind == json::Kind::kNull || cursor.next > kPositionMax) {
    cursor.next += kValueGap;
    return;
  }
  const auto last = analyzer_.Words(
      text, traits.locales, cursor.next, tokens_,
      [&](std::string_view word, uint32_t position) { builder_->AddWord(field, word, position); });
  cursor.next = last.value_or(cursor.next) + kValueGap;
}

}  // namespace gannet::indexing
