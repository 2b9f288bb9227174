// The external id of a stored document: the value at the primary key, as text; and the key that it
// has in the table of these.
//
// Most ids are numbers, and most numbers rise. As text a new one stands between old ones ("1000"
// behind "100"), where LMDB halves its pages; as numbers they come behind all others, and pages are
// filled. So a number is kept in as many bytes as it takes.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "index/fields.h"
#include "segment/rows.h"

namespace gannet::index {

// row: of an accepted document. primary_key: a dotted path, through literal names and nested
// objects. Empty when the document has none, which no accepted one does.
std::string ExternalIdOf(std::span<const segment::RowField> row, const FieldMap& fields,
                         std::string_view primary_key);

// A number of up to 19 digits, without a sign or zeros in front: u8 how many bytes it takes, at
// least 1, then these, big-endian.
// Another id: the text itself, which begins with no such byte.
std::string ExternalIdKey(std::string_view id);
// nullopt: it is no key of an id.
std::optional<std::string> ExternalIdOfKey(std::string_view key);
// Whether the key of `a` comes before that of `b`.
bool HasKeyBefore(std::string_view a, std::string_view b);

}  // namespace gannet::index
