// Bounds of a formula (filter/formula.h): which values it can have where the attributes lie between
// given limits.
#pragma once

#include <limits>
#include <optional>
#include <span>

#include "filter/formula.h"

namespace gannet::search {

// Values from `low` to `high`. low > high: no value.
struct Interval {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  bool empty() const { return low > high; }
  // Extends it to hold `value`, or all values of another one.
  void Add(double value) { Add(Interval{value, value}); }
  void Add(const Interval& other) {
    if (other.low < low) low = other.low;
    if (other.high > high) high = other.high;
  }
};

// What a field is in some documents.
struct FieldDomain {
  Interval numbers;  // empty: none
  bool strings = false, missing = false;

  void Add(const FieldDomain& other) {
    numbers.Add(other.numbers);
    strings = strings || other.strings;
    missing = missing || other.missing;
  }
};

// The values that documents can have whose fields are in `domains`, by number of the field; then
// the distances of points, by number of the decay. Some values may be impossible; none is left out.
// now    seconds since 1970
Interval BoundsOf(const filter::Formula& formula, double now, std::span<const FieldDomain> domains);

}  // namespace gannet::search
