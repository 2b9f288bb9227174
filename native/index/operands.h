// The operands of a condition, read once for all values that are compared with them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "filter/ast.h"

namespace gannet::index {

// An operand, read as a number and as a string in facet-normalised form.
struct Literal {
  explicit Literal(const filter::Value& value);
  std::optional<double> number;
  std::string string;
};

inline bool IsEquality(filter::Operator op) {
  return op == filter::Operator::kEqual || op == filter::Operator::kNotEqual ||
         op == filter::Operator::kIn;
}

// The operands of a condition on dates as moments; those that are not dates are left out.
// now: the moment that `now` means
// Invalid: an operand of a comparison is not a date. Those of an equality may be any values.
Result<std::vector<double>> MomentsOf(const filter::Node& condition, double now);

}  // namespace gannet::index
