#include "search/ranking/formula_first.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/stop_point.h"
#include "bitmap/postings_codec.h"
#include "search/ranking/formula_bounds.h"

namespace gannet::search {
namespace {

using segment::ColumnReader;
using segment::ValueOrdinal;

// Ranges into which the numbers of a field are cut.
constexpr uint32_t kRangesMax = 48;
// A field is not looked at if fewer of its ranges than one in this number can be dropped.
constexpr size_t kDroppedShare = 4;
// Nor a segment of which only one document in this number is ranked.
constexpr size_t kRankedShare = 16;
// The documents that are computed first, per wanted one.
constexpr size_t kSeedsPerWanted = 2;

// Less than those of all documents without a value.
constexpr double kNoRank = -std::numeric_limits<double>::infinity();

// Greater comes first.
double RankOfValue(double value, bool ascending) {
  if (std::isnan(value)) return kNoRank;
  return ascending ? -value : value;
}

struct Range {
  ColumnReader::ValueRange values{};  // empty: documents without a value
  FieldDomain domain;
  double rank = 0;  // none of its documents has a better one
};

// The ranges of the values of one field.
std::vector<Range> RangesOf(const ColumnReader& column) {
  std::vector<Range> ranges;
  const uint32_t numbers = column.number_count();
  uint32_t size = std::max(1u, (numbers + kRangesMax - 1) / kRangesMax);
  constexpr uint32_t kGroup = ColumnReader::kGroupValues;  // their documents are stored
  if (size > kGroup / 8) size = (size + kGroup - 1) / kGroup * kGroup;
  for (uint32_t begin = 0; begin < numbers; begin += size) {
    const uint32_t end = std::min(begin + size, numbers);
    ranges.push_back({.values = {begin, end}, .domain = {}});
    ranges.back().domain.numbers = {column.numbers()[begin], column.numbers()[end - 1]};
  }
  if (column.string_count() > 0) {
    ranges.push_back({.values = {numbers, column.value_count()}, .domain = {}});
    ranges.back().domain.strings = true;
  }
  ranges.emplace_back();
  ranges.back().domain.missing = true;
  return ranges;
}

// The documents of one segment.
class PrunedSegment {
 public:
  PrunedSegment(const index::Snapshot& snapshot, const index::SegmentView& view,
                const filter::Formula& formula, DocSet documents)
      : view_(&view), documents_(std::move(documents)), domains_(formula.fields.size()) {
    for (uint32_t n = 0; n < formula.fields.size(); ++n) {
      const auto field = snapshot.fields->Find(formula.fields[n]);
      const ColumnReader* column = field ? view.columns->Find(*field) : nullptr;
      domains_[n].missing = true;
      if (column == nullptr) continue;
      fields_.push_back({.number = n, .column = column, .ranges = RangesOf(*column), .found = {}});
      for (const Range& range : fields_.back().ranges) domains_[n].Add(range.domain);
    }
  }

  // Orders the ranges of each field, best first.
  void Order(const filter::Formula& formula, double now, bool ascending) {
    std::vector<FieldDomain> domains = domains_;
    for (Field& field : fields_) {
      for (Range& range : field.ranges) {
        StopPoint();
        domains[field.number] = range.domain;
        const Interval bounds = BoundsOf(formula, now, domains);
        range.rank = bounds.empty() ? kNoRank : ascending ? -bounds.low : bounds.high;
      }
      domains[field.number] = domains_[field.number];
      std::stable_sort(field.ranges.begin(), field.ranges.end(),
                       [](const Range& a, const Range& b) { return a.rank > b.rank; });
    }
  }

  // Some documents that are likely to be among the first.
  const DocSet& Seeds(size_t count) {
    bool more = true;
    for (size_t ranges = 1; more && seeds_.size() < count; ranges *= 2) {
      StopPoint();
      more = false;
      seeds_ = DocSet(documents_);
      for (Field& field : fields_) {
        const size_t before = std::min(ranges / 2, field.ranges.size());
        const size_t end = std::min(ranges, field.ranges.size());
        more = more || end < field.ranges.size();
        field.found |= DocumentsOf(field, before, end);
        seeds_ &= field.found;
      }
    }
    return seeds_;
  }

  // Those that can have at least a rank, without the seeds.
  DocSet Rest(double rank) const {
    DocSet rest = documents_ - seeds_;
    for (const Field& field : fields_) {
      StopPoint();
      const auto end = std::partition_point(field.ranges.begin(), field.ranges.end(),
                                            [&](const Range& range) { return range.rank >= rank; });
      const auto kept = static_cast<size_t>(end - field.ranges.begin());
      if ((field.ranges.size() - kept) * kDroppedShare < field.ranges.size()) continue;
      rest &= DocumentsOf(field, 0, kept);
    }
    return rest;
  }

  const index::SegmentView& view() const { return *view_; }
  bool has_ranges() const { return !fields_.empty(); }
  const DocSet& documents() const { return documents_; }

 private:
  struct Field {
    uint32_t number;
    const ColumnReader* column;
    std::vector<Range> ranges;
    DocSet found;  // documents of the ranges that Seeds has read
  };

  DocSet DocumentsOf(const Field& field, size_t begin, size_t end) const {
    std::vector<ColumnReader::ValueRange> values;
    bool missing = false;
    for (size_t i = begin; i < end; ++i) {
      const Range& range = field.ranges[i];
      missing = missing || range.domain.missing;
      if (range.values.begin < range.values.end) values.push_back(range.values);
    }
    DocSet found = field.column->UnionOf(values);
    if (missing) found |= documents_ - DecodePostings(field.column->valued_bytes());
    return found;
  }

  const index::SegmentView* view_;
  DocSet documents_, seeds_;
  std::vector<FieldDomain> domains_;  // by field of the formula
  std::vector<Field> fields_;         // that have values
};

// The rank of the last of the first `wanted` documents; kNoRank: fewer have a value.
double LastRank(const std::vector<DocumentValue>& values, const FirstOptions& options) {
  if (values.size() < options.wanted || options.wanted == 0) return kNoRank;
  std::vector<double> ranks;
  ranks.reserve(values.size());
  for (const DocumentValue& one : values)
    ranks.push_back(RankOfValue(one.value, options.ascending));
  const auto last = ranks.begin() + static_cast<std::ptrdiff_t>(options.wanted - 1);
  std::nth_element(ranks.begin(), last, ranks.end(), std::greater<>());
  return *last;
}

}  // namespace

std::vector<DocumentValue> FirstByFormula(const index::Snapshot& snapshot,
                                          const filter::Formula& formula,
                                          const FormulaInputs& inputs, const DocSet& documents,
                                          const FirstOptions& options) {
  std::vector<DocumentValue> values;
  std::vector<PrunedSegment> pruned;
  for (const auto& segment : snapshot.segments) {
    DocSet wanted = documents & segment->live;
    if (wanted.empty()) continue;
    const size_t size = wanted.size();
    if (!formula.uses_scores && size >= options.pruned_min && size / 8 >= options.wanted &&
        size * kRankedShare >= segment->documents->size()) {
      PrunedSegment one(snapshot, *segment, formula, DocSet(wanted));
      if (one.has_ranges()) {
        pruned.push_back(std::move(one));
        continue;
      }
    }
    AppendFormulaValues(snapshot, *segment, formula, inputs, wanted, values);
  }
  for (PrunedSegment& one : pruned) {
    one.Order(formula, inputs.now, options.ascending);
    const DocSet& seeds = one.Seeds(options.wanted * kSeedsPerWanted);
    AppendFormulaValues(snapshot, one.view(), formula, inputs, seeds, values);
  }
  for (const PrunedSegment& one : pruned) {
    const double rank = LastRank(values, options);
    AppendFormulaValues(snapshot, one.view(), formula, inputs, one.Rest(rank), values);
  }
  return values;
}

}  // namespace gannet::search
