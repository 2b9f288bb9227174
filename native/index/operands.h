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

// Invalid: an operand of a condition on dates is not a date. An equality takes any value, except
// what begins like `now-7d` and is not a time.
Status CheckDateOperands(const filter::Node& condition);

// The operands of a condition on dates as moments; those that are not dates are left out.
// now: the moment that `now` means
std::vector<double> MomentsOf(const filter::Node& condition, double now);

}  // namespace gannet::index
