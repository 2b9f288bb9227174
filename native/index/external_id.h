// The external id of a stored document: the value at the primary key, as text; and its key in the
// table of external ids.
//
// Most ids are numbers, and most numbers rise. As text a new one sorts between old ones ("1000"
// after "100"), where LMDB splits its pages in half; as numbers new ones sort last, and pages are
// filled. So a number is stored in as few bytes as it needs.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "index/fields.h"
#include "segment/rows.h"

namespace gannet::index {

// row: of an accepted document. primary_key: a dotted path, through literal names and nested
// objects. Returns an empty string if the document has no id, which no accepted document lacks.
std::string ExternalIdOf(std::span<const segment::RowField> row, const FieldMap& fields,
                         std::string_view primary_key);

// A number of up to 19 digits, without a sign or leading zeros, becomes a u8 with its size in
// bytes, at least 1, then these bytes, big-endian.
// Any other id is its text, which never begins with such a byte.
std::string ExternalIdKey(std::string_view id);
// The id of a key; nullopt if it is not a key of an id.
std::optional<std::string> ExternalIdOfKey(std::string_view key);
// Whether the key of `a` sorts before that of `b`.
bool HasKeyBefore(std::string_view a, std::string_view b);

}  // namespace gannet::index
