#include "index/distribution.h"

#include "base/bytes.h"
#include "base/json.h"

namespace gannet::index {

void Distribution::Count(std::span<const segment::RowField> row,
                         std::optional<FieldId> vectors_field, int64_t by) {
  for (const segment::RowField& field : row) {
    if (field.field == vectors_field) continue;
    FieldShare& share = shares_[field.field];
    share.documents += by;
    share.bytes += by * static_cast<int64_t>(field.value.size());
  }
}

void Distribution::Add(const Distribution& other) {
  for (const auto& [field, added] : other.shares_) {
    FieldShare& share = shares_[field];
    share.documents += added.documents;
    share.bytes += added.bytes;
  }
}

void Distribution::DropUnused() {
  std::erase_if(shares_, [](const auto& share) { return share.second.documents <= 0; });
}

uint64_t Distribution::JsonBytes(const FieldMap& fields, uint64_t documents) const {
  // Each member has a colon, and a comma or the first brace before it; each document ends with one.
  uint64_t bytes = documents;
  std::string name;
  for (const auto& [field, share] : shares_) {
    name.clear();
    AppendJsonString(name, fields.name(field));
    bytes += static_cast<uint64_t>(share.documents) * (name.size() + 2) +
             static_cast<uint64_t>(share.bytes);
  }
  return bytes;
}

void Distribution::AppendTo(std::string& out) const {
  for (const auto& [field, share] : shares_) {
    PutVarint(out, field);
    PutVarint(out, static_cast<uint64_t>(share.documents));
    PutVarint(out, static_cast<uint64_t>(share.bytes));
  }
}

std::optional<Distribution> Distribution::Parse(std::string_view bytes, const FieldMap& fields) {
  Distribution out;
  auto& shares = out.shares_;
  for (ByteReader reader(bytes); !reader.done();) {
    const uint64_t field = reader.Varint();
    const FieldShare share{static_cast<int64_t>(reader.Varint()),
                           static_cast<int64_t>(reader.Varint())};
    if (!reader.ok() || field >= fields.size() || share.documents <= 0 ||
        share.bytes < share.documents || (!shares.empty() && field <= shares.rbegin()->first))
      return std::nullopt;
    shares.emplace_hint(shares.end(), static_cast<FieldId>(field), share);
  }
  return out;
}

}  // namespace gannet::index
