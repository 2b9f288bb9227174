// Counts the candidates that have a value: one field over all segments.
//
// For each segment the cheapest of four methods is used:
//   all        every document of the segment is a candidate: the count is the length of the posting
//              list
//   sparse     few candidates: their values are collected and sorted
//   dense      a counter per value, one pass over the candidates, or over the other documents if
//              they are fewer
//   intersect  few values: each posting list is intersected with the candidates
// `intersect` changes to `dense` if more values are requested than expected.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/stop_point.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"

namespace gannet::search {

// The candidates by segment, without segments that have none. Shared by fields that are counted
// together.
// Lifetime: borrows the snapshot.
class CandidatesBySegment {
 public:
  struct Group {
    const index::SegmentView* segment;
    DocSet documents;  // live ones
    uint64_t size;
  };
  CandidatesBySegment(const index::Snapshot& snapshot, const DocSet& candidates);
  const std::vector<Group>& groups() const { return groups_; }

 private:
  std::vector<Group> groups_;
};

// The values of one segment, counted.
class SegmentCounter {
 public:
  // values_wanted: number of different values that will be requested. If needs_pass(), call `Pass`
  // before any other function.
  // Lifetime: borrows the group and the column.
  SegmentCounter(const CandidatesBySegment::Group& group, const segment::ColumnReader& column,
                 uint64_t values_wanted);

  const CandidatesBySegment::Group& group() const { return *group_; }
  const index::SegmentView& segment() const { return *group_->segment; }
  const segment::ColumnReader& column() const { return *column_; }
  bool needs_pass() const { return way_ == Way::kDense && dense_.empty(); }
  // One pass for several columns. REQUIRES: the counters are of one group.
  static void Pass(std::span<SegmentCounter* const> counters);
  // Whether Seek moves to the next value that occurs without visiting the values between.
  bool sparse() const { return way_ == Way::kSparse; }

  uint64_t Count(segment::ValueOrdinal value);
  // The first value of [from, end) that a candidate has, and its count; `end` when there is none.
  segment::ValueOrdinal Seek(segment::ValueOrdinal from, segment::ValueOrdinal end,
                             uint64_t& count);
  // The last such value of [begin, end); `end` if there is none.
  segment::ValueOrdinal SeekLast(segment::ValueOrdinal begin, segment::ValueOrdinal end);
  // The smallest docid of the candidates that have the value. REQUIRES: there is one.
  DocId FirstCandidate(segment::ValueOrdinal value) const;

 private:
  enum class Way : uint8_t { kAll, kSparse, kDense, kIntersect };
  void CountSparse();
  void CountLocals(std::span<const uint32_t> local_docids);

  const CandidatesBySegment::Group* group_;
  const segment::ColumnReader* column_;
  Way way_;
  // kIntersect: nanoseconds left before it changes to kDense, and the cost of looking at a union of
  // values.
  int64_t ns_left_ = 0, ns_per_union_ = 0;
  bool of_others_ = false;  // kDense: dense_ counts the documents that are not candidates
  // dense_[value + 1] counts documents with the value; dense_[0] is not used.
  std::vector<uint32_t> dense_;
  std::vector<std::pair<uint32_t, uint32_t>> sparse_;  // (value, count), ascending
  StopCounter steps_;
};

// A value that occurs in some segment, and where it is stored.
struct ValueReference {
  uint32_t counter;  // index into FieldCounter::segments()
  segment::ValueOrdinal value;
};

class FieldCounter {
 public:
  FieldCounter(const index::Snapshot& snapshot, FieldId field, const DocSet& candidates,
               uint64_t values_wanted);
  // For one of several fields: call `Pass` before any other function.
  FieldCounter(const index::Snapshot& snapshot, FieldId field,
               std::shared_ptr<const CandidatesBySegment> groups, uint64_t values_wanted);
  // Runs the passes over the candidates that the fields need, together. REQUIRES: the fields have
  // the same groups.
  static void Pass(std::span<FieldCounter> fields);

  std::vector<SegmentCounter>& segments() { return segments_; }

  struct Value {
    bool is_number;
    double number;
    std::string_view string;  // normalised; borrows the snapshot
    uint64_t count;
    std::span<const ValueReference> references;  // valid until the sink returns
  };
  // Calls sink(const Value&) for the numbers (or strings) that occur among the candidates,
  // ascending, until it returns false.
  template <typename Sink>
  void ForEachNumber(Sink&& sink) {
    Walk(false, sink, AnyValue());
  }
  template <typename Sink>
  void ForEachString(Sink&& sink) {
    Walk(true, sink, AnyValue());
  }
  // The same for strings that match only: next(segment, string, end) returns the first of [string,
  // end) that matches, counted from 0, or end. segment: index into segments().
  template <typename Next, typename Sink>
  void ForEachMatchingString(Next&& next, Sink&& sink) {
    Walk(true, sink, next);
  }

  // The smallest and largest number of the candidates; nullopt if they have none.
  std::optional<std::pair<double, double>> NumberRange();

  // The spelling of the string in the candidate with the smallest docid that has it. references:
  // all segments in which the string occurs.
  std::string Spelling(std::string_view normalised);
  std::string Spelling(std::span<const ValueReference> references);

 private:
  struct AnyValue {};
  template <typename Sink, typename Next>
  void Walk(bool strings, Sink&& sink, Next&& next);
  std::string SpellingIn(SegmentCounter& counter, uint32_t string, DocId docid);

  const index::Snapshot& snapshot_;
  FieldId field_;
  std::shared_ptr<const CandidatesBySegment> groups_;
  std::vector<SegmentCounter> segments_;
  std::vector<ValueReference> met_;  // of the current value of Walk
};

template <typename Sink, typename Next>
void FieldCounter::Walk(bool strings, Sink&& sink, Next&& next) {
  struct Head {
    SegmentCounter* counter;
    size_t segment;
    segment::ValueOrdinal at, end;
    uint64_t count;
  };
  // Moves head.at to the next value that matches and occurs.
  const auto settle = [&](Head& head) {
    const uint32_t numbers = head.counter->column().number_count();
    if constexpr (std::is_same_v<std::remove_cvref_t<Next>, AnyValue>) {
      head.at = head.counter->Seek(head.at, head.end, head.count);
    } else {
      for (; head.at < head.end; ++head.at) {
        if (head.counter->sparse()) {
          head.at = head.counter->Seek(head.at, head.end, head.count);
          if (head.at == head.end) return;
          const uint32_t string = head.at - numbers;
          if (next(head.segment, string, string + 1) == string) return;
        } else {
          head.at = numbers + next(head.segment, head.at - numbers, head.end - numbers);
          if (head.at == head.end) return;
          head.count = head.counter->Count(head.at);
          if (head.count > 0) return;
        }
      }
    }
  };
  std::vector<Head> heads;
  for (size_t i = 0; i < segments_.size(); ++i) {
    SegmentCounter& counter = segments_[i];
    const uint32_t numbers = counter.column().number_count();
    Head head{&counter, i, strings ? numbers : 0,
              strings ? counter.column().value_count() : numbers, 0};
    settle(head);
    if (head.at < head.end) heads.push_back(head);
  }
  const auto string_of = [](const Head& head) {
    return head.counter->column().string(head.at - head.counter->column().number_count());
  };
  const auto number_of = [](const Head& head) { return head.counter->column().numbers()[head.at]; };
  while (!heads.empty()) {
    size_t lowest = 0;
    for (size_t i = 1; i < heads.size(); ++i) {
      if (strings ? string_of(heads[i]) < string_of(heads[lowest])
                  : number_of(heads[i]) < number_of(heads[lowest])) {
        lowest = i;
      }
    }
    Value value{!strings,
                strings ? 0 : number_of(heads[lowest]),
                strings ? string_of(heads[lowest]) : "",
                0,
                {}};
    met_.clear();
    for (size_t i = 0; i < heads.size();) {
      Head& head = heads[i];
      if (strings ? string_of(head) != value.string : number_of(head) != value.number) {
        ++i;
        continue;
      }
      value.count += head.count;
      met_.push_back({static_cast<uint32_t>(head.segment), head.at});
      ++head.at;
      settle(head);
      if (head.at >= head.end) {
        heads.erase(heads.begin() + static_cast<ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
    value.references = met_;
    if (!sink(static_cast<const Value&>(value))) return;
  }
}

}  // namespace gannet::search
