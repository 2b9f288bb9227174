#include "index/value_test.h"

#include <cmath>
#include <limits>

#include "base/stop_point.h"

namespace gannet::index {

using filter::Node;
using filter::Operator;
using segment::ColumnReader;

namespace {

// Sorts ranges, and joins those that touch or overlap.
void Join(std::vector<ValueRange>& ranges) {
  if (ranges.size() < 2) return;
  std::sort(ranges.begin(), ranges.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  size_t last = 0;
  for (size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i].begin <= ranges[last].end) {
      ranges[last].end = std::max(ranges[last].end, ranges[i].end);
    } else {
      ranges[++last] = ranges[i];
    }
  }
  ranges.resize(last + 1);
}

}  // namespace

ConditionTest::ConditionTest(const Node& node, bool dates, double now)
    : op_(node.op), dates_(dates) {
  if (dates) SetMoments(MomentsOf(node, now));
  // Values that equal the operand pass as well.
  if (dates && !IsEquality(op_)) return;
  for (const filter::Value& value : node.values) {
    StopPoint();
    literals_.emplace_back(value);
  }
}

ValueRanges ConditionTest::Ranges(const segment::ColumnsReader& columns, FieldId field) const {
  const ColumnReader& column = *columns.Find(field);
  ValueRanges ranges;
  if (!literals_.empty()) AddValues(column, ranges);
  for (const auto& [from, to] : moments_) {
    const ValueRange numbers{column.LowerNumber(from), column.UpperNumber(to)};
    if (numbers.begin < numbers.end) ranges.push_back(numbers);
  }
  if (dates_) columns.Dates(field).AppendValues(moments_, ranges);
  Join(ranges);
  return ranges;
}

void ConditionTest::AddValues(const ColumnReader& column, ValueRanges& ranges) const {
  StopCounter steps;
  const uint32_t numbers = column.number_count(), strings = column.string_count();
  const auto add_numbers = [&](uint32_t begin, uint32_t end) {
    if (begin < end) ranges.push_back({begin, end});
  };
  const auto add_strings = [&](uint32_t begin, uint32_t end) {
    add_numbers(numbers + begin, numbers + end);
  };
  switch (op_) {
    case Operator::kEqual:
    case Operator::kNotEqual:
    case Operator::kIn:
      for (const Literal& literal : literals_) {
        steps.Step(64);
        if (literal.number)
          add_numbers(column.LowerNumber(*literal.number), column.UpperNumber(*literal.number));
        add_strings(column.LowerString(literal.string), column.UpperString(literal.string));
      }
      break;
    case Operator::kGreater:
    case Operator::kGreaterEqual: {
      const bool included = op_ == Operator::kGreaterEqual;
      const Literal& from = literals_[0];
      if (from.number) {
        add_numbers(included ? column.LowerNumber(*from.number) : column.UpperNumber(*from.number),
                    numbers);
      }
      add_strings(included ? column.LowerString(from.string) : column.UpperString(from.string),
                  strings);
      break;
    }
    case Operator::kLess:
    case Operator::kLessEqual: {
      const bool included = op_ == Operator::kLessEqual;
      const Literal& to = literals_[0];
      if (to.number) {
        add_numbers(0, included ? column.UpperNumber(*to.number) : column.LowerNumber(*to.number));
      }
      add_strings(0, included ? column.UpperString(to.string) : column.LowerString(to.string));
      break;
    }
    case Operator::kBetween: {
      const Literal &from = literals_[0], &to = literals_[1];
      if (from.number && to.number)
        add_numbers(column.LowerNumber(*from.number), column.UpperNumber(*to.number));
      add_strings(column.LowerString(from.string), column.UpperString(to.string));
      break;
    }
    case Operator::kContains:
      if (literals_[0].string.empty()) {
        add_strings(0, strings);
      } else {
        std::vector<uint32_t> found;
        column.FindContaining(literals_[0].string, found);
        for (const uint32_t string : found) add_strings(string, string + 1);
      }
      break;
    case Operator::kStartsWith:
      // No UTF-8 text has the byte 0xff.
      add_strings(column.LowerString(literals_[0].string),
                  column.LowerString(literals_[0].string + '\xff'));
      break;
    case Operator::kExists:
    case Operator::kIsNull:
    case Operator::kIsEmpty: break;
  }
}

void ConditionTest::SetMoments(std::vector<double> moments) {
  constexpr double kEver = std::numeric_limits<double>::infinity();
  switch (op_) {
    case Operator::kGreater: moments_ = {{std::nextafter(moments[0], kEver), kEver}}; break;
    case Operator::kGreaterEqual: moments_ = {{moments[0], kEver}}; break;
    case Operator::kLess: moments_ = {{-kEver, std::nextafter(moments[0], -kEver)}}; break;
    case Operator::kLessEqual: moments_ = {{-kEver, moments[0]}}; break;
    case Operator::kBetween: moments_ = {{moments[0], moments[1]}}; break;
    default:
      std::sort(moments.begin(), moments.end());
      moments.erase(std::unique(moments.begin(), moments.end()), moments.end());
      for (const double moment : moments) moments_.push_back({moment, moment});
  }
}

}  // namespace gannet::index
