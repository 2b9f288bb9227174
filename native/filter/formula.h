// Formulas: expressions that order documents, such as `log(1 + sales) * decay(released, now, 30d)`
// (docs/behaviour/formulas.md).
//
//   sum     := product ( ( "+" | "-" ) product )*
//   product := signed ( ( "*" | "/" ) signed )*
//   signed  := "-" signed | primary
//   primary := number | "(" sum ")" | attribute | "_rankingScore" | "_semanticScore"
//            | ( "log" | "sqrt" | "abs" ) "(" sum ")" | "pow" "(" sum "," sum ")"
//            | ( "min" | "max" ) "(" sum ( "," sum )+ ")"
//            | "if" "(" filter "," sum "," sum ")"
//            | "decay" "(" attribute "," origin "," scale [ "," ( "exp" | "gauss" | "linear" ) ]
//            ")"
//   origin  := [ "-" ] number | "now" | "'" date "'" | "_geoPoint" "(" lat "," lng ")"
//   scale   := number [ "s" | "m" | "h" | "d" | "w" | "km" ]
//
// An attribute is a run of letters, digits, `_` and `.` that does not begin with a digit, or any
// text in double quotes.
//
// A formula becomes a program for a stack machine, which runs over many documents at once.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "filter/ast.h"
#include "filter/geo.h"
#include "filter/parser.h"

namespace gannet::filter {

inline constexpr size_t kFormulaBytesMax = 2'000;
inline constexpr size_t kFormulaStepsMax = 200;
inline constexpr int kFormulaDepthMax = 30;  // of the stack, and of nested parts
inline constexpr size_t kFormulaConditionsMax = 10;

struct Decay {
  enum class Kind : uint8_t { kNumber, kDate, kPoint };
  enum class Shape : uint8_t { kExp, kGauss, kLinear };
  Kind kind = Kind::kNumber;
  Shape shape = Shape::kExp;
  bool from_now = false;  // the origin is the time of the search
  double origin = 0;      // a number, or seconds since 1970
  GeoPoint point = {};
  double scale = 1;  // > 0; seconds, or metres
};

struct FormulaStep {
  enum class Op : uint8_t {
    kNumber,  // pushes `number`
    kField,   // pushes field `index`
    kDecay,   // pushes the decay `index` of field `field`
    kRankingScore,
    kSemanticScore,
    kNegate,  // the others replace the operands on top of the stack with the result
    kLog,
    kSqrt,
    kAbs,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kPow,
    kMin,
    kMax,
    kIf,  // of two operands the first if condition `index` holds, else the second
  };
  Op op = Op::kNumber;
  double number = 0;
  uint32_t index = 0;
  uint32_t field = 0;
};

// Immutable.
struct Formula {
  std::vector<FormulaStep> steps;
  std::vector<std::string> fields;  // each once
  std::vector<Decay> decays;
  std::vector<std::unique_ptr<Node>> conditions;
  bool uses_scores = false;

  // All attributes that it reads, those of conditions too.
  std::vector<std::string> AllFields() const;
};

// Whether the text of a sort criterion, without its direction, is a formula and not an attribute:
// it calls a function, or has an operator with white space on both sides.
bool LooksLikeFormula(std::string_view text);

// Invalid, without a code: the message says at which character.
Result<std::shared_ptr<const Formula>> ParseFormula(std::string_view text,
                                                    const FilterFeatures& features);

}  // namespace gannet::filter
