// Filter expressions -> tree.
//
//   filter     := expression? END
//   expression := and ( "OR" and )*
//   and        := not ( "AND" not )*
//   not        := "NOT" not | primary
//   primary    := "(" expression ")" | geo | vectors | condition
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
// White space is free between all of these, with two exceptions: `TO` stands between white space,
// and `STARTS WITH` holds exactly one space. `_vectors` in front of any other operator is an
// ordinary field.
//
// As JSON a filter is a string, or an array (AND) of strings and of arrays (OR) of strings; null,
// blank strings and empty arrays are no filter. Parts that are blank are left out wherever they
// stand.
//
// Faults: Status::Invalid with detail "invalid_search_filter", or "feature_not_enabled" for what a
// feature guards (a syntax fault anywhere in the filter comes first).
#pragma once

#include <memory>
#include <string_view>

#include "base/status.h"
#include "filter/ast.h"

namespace gannet::filter {

// Parentheses and NOTs around each other in one expression. Trees are at most a few levels deeper
// than that: what arrays combine adds two.
inline constexpr int kNestingMax = 150;

struct FilterFeatures {
  bool contains = false;    // CONTAINS
  bool multimodal = false;  // _vectors ... EXISTS
  // _foreign(...). Its conditions are replaced before a filter comes here, where they may stand at
  // all; so one that comes here stands in a wrong place, or the feature is off.
  bool foreign_keys = false;
};

// Parses the JSON text of a filter: a string, an array, a nested array or null. No filter gives a
// node of kTrue.
Result<std::unique_ptr<Node>> ParseFilterJson(std::string_view json,
                                              const FilterFeatures& features);

// Parses one expression. A blank one gives a node of kTrue.
Result<std::unique_ptr<Node>> ParseFilter(std::string_view expression,
                                          const FilterFeatures& features);

}  // namespace gannet::filter
