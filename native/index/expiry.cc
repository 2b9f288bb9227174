#include "index/expiry.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/stop_point.h"
#include "bitmap/postings_codec.h"

namespace gannet::index {
namespace {

using segment::ColumnDates;
using segment::ColumnReader;

constexpr double kNever = std::numeric_limits<double>::infinity();

// Calls each(segment, column, dates) for the segments that have the attribute.
template <typename Each>
void ForEachDated(const Snapshot& snapshot, const Each& each) {
  if (!snapshot.settings->expires_at) return;
  const auto field = snapshot.fields->Find(*snapshot.settings->expires_at);
  if (!field) return;
  for (const auto& segment : snapshot.segments) {
    if (const ColumnReader* column = segment->columns->Find(*field))
      each(*segment, *column, segment->columns->Dates(*field));
  }
}

// The first number after `after` of a live document.
double NextNumber(const SegmentView& segment, const ColumnReader& column, double after) {
  StopCounter steps;
  const uint32_t end = column.number_count();
  for (uint32_t value = column.UpperNumber(after); value < end; ++value) {
    while (column.SkipUp(value, end, segment.live)) steps.Step(16);
    if (value >= end) break;
    steps.Step(4);
    if (PostingsIntersect(column.postings(value), segment.live)) return column.numbers()[value];
  }
  return kNever;
}

// The same for dates that are texts.
double NextDate(const SegmentView& segment, const ColumnReader& column, const ColumnDates& dates,
                double after) {
  constexpr uint32_t kDatesMax = 1 << 16;
  StopCounter steps;
  const uint32_t begin = dates.FirstAfter(after);
  for (uint32_t i = begin; i < dates.count(); ++i) {
    steps.Step(4);
    if (i - begin == kDatesMax ||
        PostingsIntersect(column.postings(dates.ValueAt(i)), segment.live))
      return dates.MomentAt(i);
  }
  return kNever;
}

}  // namespace

DocSet ExpiredAt(const Snapshot& snapshot, double now) {
  DocSet expired;
  ForEachDated(snapshot, [&](const SegmentView& segment, const ColumnReader& column,
                             const ColumnDates& dates) {
    std::vector<ColumnReader::ValueRange> values;
    const ColumnDates::Range passed{-kNever, now};
    dates.AppendValues({&passed, 1}, values);
    if (const uint32_t end = column.UpperNumber(now); end > 0) values.push_back({0, end});
    expired |= column.UnionOf(values) & segment.live;
  });
  return expired;
}

double NextExpiry(const Snapshot& snapshot, double after) {
  double next = kNever;
  ForEachDated(snapshot, [&](const SegmentView& segment, const ColumnReader& column,
                             const ColumnDates& dates) {
    next = std::min(
        {next, NextNumber(segment, column, after), NextDate(segment, column, dates, after)});
  });
  return next;
}

std::shared_ptr<const Snapshot> Without(const Snapshot& snapshot, const DocSet& documents) {
  auto rest = std::make_shared<Snapshot>(snapshot);
  rest->documents -= documents;
  rest->segments.clear();
  for (const auto& segment : snapshot.segments) {
    if (!documents.Intersects(segment->live)) {
      rest->segments.push_back(segment);
      continue;
    }
    auto copy = std::make_shared<SegmentView>(*segment);
    copy->Lose(documents);
    // A segment has at least one live document.
    if (!copy->live.empty()) rest->segments.push_back(std::move(copy));
  }
  return rest;
}

}  // namespace gannet::index
