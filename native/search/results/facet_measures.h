// Percentiles and histograms of the numbers of a facet (docs/behaviour/facets.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json_value.h"

namespace gannet::search {

// What to measure; the parameter `facetStats` has it by attribute.
struct FacetMeasures {
  std::vector<double> percentiles;  // 0 to 100
  uint64_t buckets = 0;             // of the histogram; 0: none
};
using MeasuresByName = std::map<std::string, FacetMeasures, std::less<>>;
MeasuresByName ParseMeasures(const json::Value& value);

struct NumberCount {
  double number;
  uint64_t count;  // documents
};

struct MeasuredNumbers {
  // The last bucket includes its end, the others do not.
  struct Bucket {
    double from, to;
    uint64_t count;
  };
  std::map<double, double> percentiles;
  std::vector<Bucket> buckets;
};

// Measures numbers that are added in ascending order.
class NumberMeter {
 public:
  // range  the smallest and the largest of the numbers
  // total  the sum of their counts; REQUIRES: at least 1
  NumberMeter(const FacetMeasures& wanted, std::pair<double, double> range, uint64_t total);

  void Add(const NumberCount& one);
  MeasuredNumbers& measured() { return measured_; }

 private:
  struct Rank {
    uint64_t rank;  // of the number, from 1
    double percent;
  };
  std::vector<Rank> ranks_;  // ascending
  size_t next_ = 0;          // the first that is not reached
  uint64_t seen_ = 0;
  size_t bucket_ = 0;  // of the last number
  MeasuredNumbers measured_;
};

// Appends members, each with a comma before it.
void AppendMeasured(const MeasuredNumbers& measured, std::string& out);

}  // namespace gannet::search
