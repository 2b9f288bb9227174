// Counting the candidates that have a value: one field over all segments.
//
// Per segment one of four ways, whichever looks cheapest:
//   all        every document of the segment is a candidate: the length of each posting list is the
//              answer
//   sparse     few candidates: their values are gathered and sorted
//   dense      a counter per value, one pass over the candidates, or over the other documents if
//              they are fewer
//   intersect  few values: each posting list is intersected with the candidates
// `intersect` turns into `dense` when more values are asked about than was expected.
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

// The candidates segment by segment, those without any left out. What fields that are counted
// together share.
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
  // values_wanted: how many different values will be asked about. Where a pass over the candidates
  // is the way, `Pass` must come before any question.
  // Lifetime: borrows the part.
  SegmentCounter(const CandidatesBySegment::Group& group, const segment::ColumnReader& column,
                 uint64_t values_wanted);

  const CandidatesBySegment::Group& group() const { return *group_; }
  const index::SegmentView& segment() const { return *group_->segment; }
  const segment::ColumnReader& column() const { return *column_; }
  bool needs_pass() const { return way_ == Way::kDense && dense_.empty(); }
  // One pass for several columns. REQUIRES: the counters are of one part
  static void Pass(std::span<SegmentCounter* const> counters);
  // Seek goes from one value that occurs to the next without looking at those between them.
  bool sparse() const { return way_ == Way::kSparse; }

  uint64_t Count(segment::ValueOrdinal value);
  // The first value of [from, end) that a candidate has, and its count; `end` when there is none.
  segment::ValueOrdinal Seek(segment::ValueOrdinal from, segment::ValueOrdinal end,
                             uint64_t& count);
  // The last one; `end` when there is none.
  segment::ValueOrdinal SeekLast(segment::ValueOrdinal begin, segment::ValueOrdinal end);
  // The least docid among the candidates that have the value. REQUIRES: there is one.
  DocId LeastCandidate(segment::ValueOrdinal value) const;

 private:
  enum class Way : uint8_t { kAll, kSparse, kDense, kIntersect };
  void CountSparse();
  void CountLocals(std::span<const uint32_t> local_docids);

  const CandidatesBySegment::Group* group_;
  const segment::ColumnReader* column_;
  Way way_;
  // kIntersect: what may be spent before it turns into kDense, and what looking at a union of
  // values costs; nanoseconds.
  int64_t ns_left_ = 0, ns_per_union_ = 0;
  bool of_others_ = false;  // kDense: dense_ counts the documents that are not candidates
  std::vector<uint32_t>
      dense_;  // by value; those of one value by its code, which is greater by one
  std::vector<std::pair<uint32_t, uint32_t>> sparse_;  // (value, count), ascending
  StopCounter steps_;
};

// A value that occurs in some segment: where it stands there.
struct ValueReference {
  uint32_t counter;  // of FieldCounter
  segment::ValueOrdinal value;
};

class FieldCounter {
 public:
  FieldCounter(const index::Snapshot& snapshot, FieldId field, const DocSet& candidates,
               uint64_t values_wanted);
  // Of several: `Pass` must come before any question.
  FieldCounter(const index::Snapshot& snapshot, FieldId field,
               std::shared_ptr<const CandidatesBySegment> groups, uint64_t values_wanted);
  // The passes over the candidates that the fields need, in common. REQUIRES: they have the same
  // groups
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
  // Only strings that match: next(segment, string, end) is the first one of [string, end) that
  // does, counted from 0, or end. The segment is its number in segments().
  template <typename Next, typename Sink>
  void ForEachMatchingString(Next&& next, Sink&& sink) {
    Walk(true, sink, next);
  }

  // Least and greatest number of the candidates; nullopt when they have none.
  std::optional<std::pair<double, double>> NumberRange();

  // How the candidate with the least docid that has the string spells it. references: all in which
  // it occurs.
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
  std::vector<ValueReference> met_;  // of the value that Walk is at
};

template <typename Sink, typename Next>
void FieldCounter::Walk(bool strings, Sink&& sink, Next&& next) {
  struct Head {
    SegmentCounter* counter;
    size_t segment;
    segment::ValueOrdinal at, end;
    uint64_t count;
  };
  // To the first value from head.at on that matches and occurs.
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
    size_t least = 0;
    for (size_t i = 1; i < heads.size(); ++i) {
      if (strings ? string_of(heads[i]) < string_of(heads[least])
                  : number_of(heads[i]) < number_of(heads[least])) {
        least = i;
      }
    }
    Value value{!strings,
                strings ? 0 : number_of(heads[least]),
                strings ? string_of(heads[least]) : "",
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
