// Conditions on values, read once: each selects values of a column.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "filter/ast.h"
#include "index/operands.h"
#include "segment/columns.h"

namespace gannet::index {

using ValueRange = segment::ColumnReader::ValueRange;
using ValueRanges = std::vector<ValueRange>;  // ascending and disjoint

inline bool InRanges(const ValueRanges& ranges, uint32_t value) {
  const auto after =
      std::upper_bound(ranges.begin(), ranges.end(), value,
                       [](uint32_t v, const ValueRange& range) { return v < range.begin; });
  return after != ranges.begin() && value < std::prev(after)->end;
}

// A condition that compares values: selects those of a column that satisfy it.
class ConditionTest {
 public:
  // dates: whether the rule of the field says that its values are dates. now: what `now` means
  ConditionTest(const filter::Node& node, bool dates, double now);
  // columns: of a segment that has a column of the field
  ValueRanges Ranges(const segment::ColumnsReader& columns, FieldId field) const;

 private:
  void SetMoments(std::vector<double> moments);
  // Adds the values that satisfy the condition by their value.
  void AddValues(const segment::ColumnReader& column, ValueRanges& ranges) const;

  filter::Operator op_;
  bool dates_;
  std::vector<Literal> literals_;                     // none if only moments count
  std::vector<segment::ColumnDates::Range> moments_;  // ascending and disjoint
};

}  // namespace gannet::index
