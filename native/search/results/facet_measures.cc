#include "search/results/facet_measures.h"

#include <cmath>

#include "base/json.h"

namespace gannet::search {

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
  for (const double percent : wanted.percentiles) {
    const double rank = std::ceil(percent * static_cast<double>(total) / 100);
    ranks_.push_back({std::clamp<uint64_t>(static_cast<uint64_t>(rank), 1, total), percent});
  }
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
