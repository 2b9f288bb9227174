// The tree of a filter expression. It is independent of any index: whoever evaluates it decides
// whether a field may be filtered, or a geo function be used.
//
// Every negative keyword form (NOT IN, NOT EXISTS, IS NOT NULL, ...) is a kNot over the positive
// condition, whose `negated_form` records how it was written. Only `!=` is an operator of its own,
// because it differs from NOT `=` on a field that no document has. The child of a kNot is never a
// kNot: two complements cancel.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "filter/geo.h"

namespace gannet::filter {

// Part of an expression: characters [start, end), counted from 1.
struct Span {
  uint32_t start = 1;
  uint32_t end = 1;
};

enum class Operator : uint8_t {
  kEqual,
  kNotEqual,
  kGreater,
  kGreaterEqual,
  kLess,
  kLessEqual,
  kBetween,  // field a TO b, both ends included
  kIn,
  kExists,
  kIsNull,
  kIsEmpty,
  kContains,
  kStartsWith,
};

// The operator as written in an expression, such as "NOT IN" for (kIn, true).
// REQUIRES: `negated_form` only with kIn and the operators after it in the enumeration
std::string_view OperatorName(Operator op, bool negated_form = false);

struct Value {
  std::string text;  // unquoted and unescaped
  std::optional<double>
      number;            // `text` as a decimal number, if that is finite; keeps the sign of -0
  bool is_date = false;  // now+7d without quotation marks: only where dates are compared
  Span span;
};

enum class VectorKind : uint8_t { kAny, kUserProvided, kRegenerate, kDocumentTemplate, kFragment };

struct Node {
  enum class Kind : uint8_t {
    kTrue,            // the empty filter: every document
    kAnd,             // at least two children
    kOr,              // at least two children
    kNot,             // one child
    kCondition,       // field, op, values
    kElements,        // field, one child: what one element of the field's array passes
    kGeoRadius,       // points[0], metres, resolution
    kGeoBoundingBox,  // points[0] top right, points[1] bottom left
    kGeoPolygon,      // at least three points, not closed
    kVectorExists,    // embedder, vector_kind, fragment
  };

  Kind kind = Kind::kTrue;
  std::vector<std::unique_ptr<Node>> children;

  std::string field;
  Operator op = Operator::kEqual;
  bool negated_form = false;  // written as NOT IN, IS NOT NULL, ...
  std::vector<Value>
      values;  // kBetween: two; kIn: any number; kExists, kIsNull, kIsEmpty: none; else one

  std::vector<GeoPoint> points;  // latitudes -90 to 90, longitudes -180 to 180
  double metres = 0;             // may be negative: matches nothing
  int resolution = kDefaultResolution;

  std::string embedder;  // empty: any
  VectorKind vector_kind = VectorKind::kAny;
  std::string fragment;

  // Leaves only: the position of the condition, of the geo function or of the field of `_vectors`,
  // for messages.
  Span span;
  Span field_span;
  std::shared_ptr<const std::string> source;  // the whole expression

  static constexpr int kDefaultResolution = 125;
};

// The error about `span` of `source`: the reason, then the position as start:end, with the whole
// expression.
Status FilterError(std::string_view reason, Span span, std::string_view source,
                   std::string detail = "invalid_search_filter");

}  // namespace gannet::filter
