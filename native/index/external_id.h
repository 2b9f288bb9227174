// The external id of a stored document: the value at the primary key, as text.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "index/fields.h"
#include "segment/rows.h"

namespace gannet::index {

// row: of an accepted document. primary_key: a dotted path, through literal names and nested objects. Empty when the
// document has none, which no accepted one does.
std::string ExternalIdOf(std::span<const segment::RowField> row, const FieldMap& fields, std::string_view primary_key);

}  // namespace gannet::index
