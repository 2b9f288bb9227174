// Filter expressions -> tree.
//
//   filter     := expression? END
//   expression := and ( "OR" and )*
//   and        := not ( "AND" not )*
//   not        := "NOT" not | primary
//   primary    := "(" expression ")" | geo | vectors | elements | condition
//   elements   := value "[" expression "]"
//   condition  := value ( "=" | "!=" | ">" | ">=" | "<" | "<=" ) value
//               | value value "TO" value
//               | value [ "NOT" ] "IN" "[" ( value ( "," value )* ","? )? "]"
//               | value [ "NOT" ] "EXISTS" | value "IS" [ "NOT" ] ( "NULL" | "EMPTY" )
//               | value [ "NOT" ] ( "CONTAINS" | "STARTS WITH" ) value
//   geo        := _geoRadius(lat, lng, metres [, resolution])
//               | _geoBoundingBox([lat, lng], [lat, lng])
//               | _geoPolygon([lat, lng], [lat, lng], [lat, lng] (, [lat, lng])* ,?)
//   vectors    := "_vectors" ( "." name ( "." subpart )? )? [ "NOT" ] "EXISTS"
//   subpart    := "fragments." name | "userProvided" | "documentTemplate" | "regenerate"
//
// An operand is a value, or `now+` and a word (base/moment.h).
//
// White space is free between all of these, with two exceptions: `TO` needs white space on both
// sides, and `STARTS WITH` holds exactly one space. `_vectors` before any other operator is an
// ordinary field.
//
// As JSON a filter is a string, or an array (AND) of strings and of arrays (OR) of strings; null,
// blank strings and empty arrays are no filter. Blank parts are ignored everywhere.
//
// Faults: Status::Invalid with detail "invalid_search_filter", or "feature_not_enabled" for syntax
// that a feature guards (a syntax fault anywhere in the filter takes precedence).
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"
#include "filter/ast.h"

namespace gannet::filter {

// The limit of nested parentheses and NOTs in one expression. Trees are at most a few levels
// deeper: the levels of arrays add two.
inline constexpr int kNestingMax = 150;

struct FilterFeatures {
  bool contains = false;    // CONTAINS
  bool multimodal = false;  // _vectors ... EXISTS
  // _foreign(...). Where the condition is allowed, it is replaced before the filter is parsed here.
  // So if one is found here, it is in a wrong position, or the feature is off.
  bool foreign_keys = false;
};

// Parses the JSON text of a filter: a string, an array, a nested array or null. An absent filter
// gives a node of kTrue.
Result<std::unique_ptr<Node>> ParseFilterJson(std::string_view json,
                                              const FilterFeatures& features);

// Parses one expression. A blank one gives a node of kTrue.
Result<std::unique_ptr<Node>> ParseFilter(std::string_view expression,
                                          const FilterFeatures& features);

}  // namespace gannet::filter
