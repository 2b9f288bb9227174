#include "filter/ast.h"

#include <cassert>

namespace gannet::filter {

std::string_view OperatorName(Operator op, bool negated_form) {
  switch (op) {
    case Operator::kEqual: return "=";
    case Operator::kNotEqual: return "!=";
    case Operator::kGreater: return ">";
    case Operator::kGreaterEqual: return ">=";
    case Operator::kLess: return "<";
    case Operator::kLessEqual: return "<=";
    case Operator::kBetween: return "TO";
    case Operator::kIn: return negated_form ? "NOT IN" : "IN";
    case Operator::kExists: return negated_form ? "NOT EXISTS" : "EXISTS";
    case Operator::kIsNull: return negated_form ? "IS NOT NULL" : "IS NULL";
    case Operator::kIsEmpty: return negated_form ? "IS NOT EMPTY" : "IS EMPTY";
    case Operator::kContains: return negated_form ? "NOT CONTAINS" : "CONTAINS";
    case Operator::kStartsWith: return negated_form ? "NOT STARTS WITH" : "STARTS WITH";
  }
  assert(false);
  return "";
}

Status FilterError(std::string_view reason, Span span, std::string_view source,
                   std::string detail) {
  std::string message(reason);
  message += '\n';
  message += std::to_string(span.start);
  message += ':';
  message += std::to_string(span.end);
  message += ' ';
  message += source;
  return Status::Invalid(std::move(message), std::move(detail));
}

}  // namespace gannet::filter
