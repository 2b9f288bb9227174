#include "search/results/facet_measures.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

#include "base/json.h"

namespace gannet::search {
namespace {

// The rank of the number that `percent` of `total` numbers do not exceed: 1.1 percent of 3000 are
// 33, although the nearest `double` is greater than 1.1. Counts with the shortest decimal.
uint64_t RankOf(double percent, uint64_t total) {
  char text[32];
  const char* const end =
      std::to_chars(text, text + sizeof text, percent, std::chars_format::scientific).ptr;
  const std::string_view decimal(text, end);
  const size_t e = decimal.find('e');
  unsigned __int128 digits = 0, whole = 1;
  for (const char digit : decimal.substr(0, e)) {
    if (digit != '.') digits = digits * 10 + static_cast<unsigned>(digit - '0');
  }
  int exponent = 0;
  std::from_chars(decimal.data() + e + 2, end, exponent);
  if (decimal[e + 1] == '-') exponent = -exponent;
  // A percentile is at most 100, so there are at least as many zeros as its exponent.
  const int zeros = 2 + static_cast<int>(e == 1 ? 0 : e - 2) - exponent;
  constexpr int kZerosMax = 37;  // more than digits * total has
  for (int i = 0; i < std::min(zeros, kZerosMax); ++i) whole *= 10;
  const auto rank = static_cast<uint64_t>((digits * total + whole - 1) / whole);
  return std::clamp<uint64_t>(rank, 1, total);
}

}  // namespace

MeasuresByName ParseMeasures(const json::Value& value) {
  MeasuresByName measures;
  for (const auto& [name, wanted] : value.members()) {
    FacetMeasures& measure = measures[name];
    for (const json::Value& percent : wanted["percentiles"].items())
      measure.percentiles.push_back(percent.number());
    measure.buckets = wanted["histogram"]["buckets"].integer();
  }
  return measures;
}

NumberMeter::NumberMeter(const FacetMeasures& wanted, std::pair<double, double> range,
                         uint64_t total) {
  for (const double percent : wanted.percentiles)
    ranks_.push_back({RankOf(percent, total), percent});
  std::sort(ranks_.begin(), ranks_.end(),
            [](const Rank& a, const Rank& b) { return a.rank < b.rank; });
  const uint64_t buckets =
      range.first == range.second ? std::min<uint64_t>(wanted.buckets, 1) : wanted.buckets;
  const auto edge = [&](uint64_t number) {
    return std::lerp(range.first, range.second,
                     static_cast<double>(number) / static_cast<double>(buckets));
  };
  for (uint64_t i = 0; i < buckets; ++i) measured_.buckets.push_back({edge(i), edge(i + 1), 0});
}

void NumberMeter::Add(const NumberCount& one) {
  seen_ += one.count;
  for (; next_ < ranks_.size() && ranks_[next_].rank <= seen_; ++next_)
    measured_.percentiles[ranks_[next_].percent] = one.number;
  std::vector<MeasuredNumbers::Bucket>& buckets = measured_.buckets;
  if (buckets.empty()) return;
  while (bucket_ + 1 < buckets.size() && one.number >= buckets[bucket_].to) ++bucket_;
  buckets[bucket_].count += one.count;
}

void AppendMeasured(const MeasuredNumbers& measured, std::string& out) {
  if (!measured.percentiles.empty()) {
    out += ",\"percentiles\":";
    char open = '{';
    for (const auto& [percent, number] : measured.percentiles) {
      out += std::exchange(open, ',');
      out += '"';
      AppendJsonNumber(out, percent);
      out += "\":";
      AppendJsonFloat(out, number);
    }
    out += '}';
  }
  if (measured.buckets.empty()) return;
  out += ",\"histogram\":";
  char open = '[';
  for (const auto& [from, to, count] : measured.buckets) {
    out += std::exchange(open, ',');
    out += "{\"from\":";
    AppendJsonFloat(out, from);
    out += ",\"to\":";
    AppendJsonFloat(out, to);
    out += ",\"count\":";
    AppendJsonNumber(out, count);
    out += '}';
  }
  out += ']';
}

}  // namespace gannet::search
