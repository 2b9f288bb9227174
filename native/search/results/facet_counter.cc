#include "search/results/facet_counter.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/json_reader.h"
#include "base/stop_point.h"
#include "base/utf8.h"
#include "bitmap/postings_codec.h"
#include "segment/local_docids.h"
#include "text/normalize.h"

namespace gannet::search {
namespace {

using segment::ColumnReader;
using segment::ValueOrdinal;

// Costs in nanoseconds, measured with one million documents on one core.
constexpr double kNsPerDocument = 1.5;       // for a pass, one value per document
constexpr double kNsPerDocumentSeveral = 6;  // for a pass, several values per document
constexpr double kNsPerCounter = 0.3;        // to clear and to look at

// The number of candidates that a pass counts for one column before the next.
constexpr size_t kPassBlock = 1024;

// Collecting and sorting this many values is cheaper than clearing a counter for each value of the
// column.
constexpr uint64_t kSparseDocuments = 64;
constexpr uint64_t kValuesPerSparseDocument = 16;

}  // namespace

CandidatesBySegment::CandidatesBySegment(const index::Snapshot& snapshot,
                                         const DocSet& candidates) {
  for (const auto& segment : snapshot.segments) {
    DocSet documents = candidates & segment->live;
    const uint64_t size = documents.size();
    if (size > 0) groups_.push_back({segment.get(), std::move(documents), size});
  }
}

SegmentCounter::SegmentCounter(const CandidatesBySegment::Group& group, const ColumnReader& column,
                               uint64_t values_wanted)
    : group_(&group), column_(&column) {
  const uint64_t documents = group.segment->documents->size(), size = group.size;
  if (size == documents) {
    way_ = Way::kAll;
    return;
  }
  if (size <= kSparseDocuments || size * kValuesPerSparseDocument <= column.value_count()) {
    CountSparse();
    return;
  }
  of_others_ = size * 2 > documents;
  const double ns_per_document = column.single_valued() ? kNsPerDocument : kNsPerDocumentSeveral;
  const double dense = static_cast<double>(std::min(size, documents - size)) * ns_per_document +
                       column.value_count() * kNsPerCounter;
  const uint64_t documents_per_value = documents / std::max(1u, column.value_count());
  const double lookup_ns =
      static_cast<double>(ColumnReader::NsOfIntersection(documents_per_value, size, documents));
  const double lookups =
      static_cast<double>(std::min<uint64_t>(values_wanted, column.value_count()));
  // How many values are visited until enough of them have candidates is known only afterwards:
  // expect twice as many.
  if (lookups * 2 * lookup_ns < dense) {
    way_ = Way::kIntersect;
    ns_left_ = static_cast<int64_t>(dense);
    ns_per_union_ = ColumnReader::NsOfIntersection(documents_per_value * ColumnReader::kGroupValues,
                                                   size, documents);
  } else {
    way_ = Way::kDense;
  }
}

void SegmentCounter::CountSparse() {
  way_ = Way::kSparse;
  std::vector<uint32_t> values;
  segment::ForEachLocal(
      segment().rows->local_docids(), group_->documents, [&](uint32_t local, uint32_t) {
        column_->ForEachValue(local, [&](ValueOrdinal value) { values.push_back(value); });
      });
  StopPoint();
  std::sort(values.begin(), values.end());
  for (const uint32_t value : values) {
    if (sparse_.empty() || sparse_.back().first != value) sparse_.emplace_back(value, 0);
    ++sparse_.back().second;
  }
}

void SegmentCounter::Pass(std::span<SegmentCounter* const> counters) {
  const CandidatesBySegment::Group& group = *counters[0]->group_;
  DocSet others;
  if (counters[0]->of_others_) others = *group.segment->documents - group.documents;
  for (SegmentCounter* counter : counters) {
    counter->way_ = Way::kDense;
    StopPoint();
    counter->dense_.assign(counter->column_->value_count() + size_t{1}, 0);
  }
  std::array<uint32_t, kPassBlock> local_docids;
  size_t size = 0;
  const auto count = [&] {
    StopPoint();
    for (SegmentCounter* counter : counters) counter->CountLocals({local_docids.data(), size});
    size = 0;
  };
  segment::ForEachLocal(group.segment->rows->local_docids(),
                        counters[0]->of_others_ ? others : group.documents,
                        [&](uint32_t local, uint32_t) {
                          local_docids[size++] = local;
                          if (size == kPassBlock) count();
                        });
  count();
}

void SegmentCounter::CountLocals(std::span<const uint32_t> local_docids) {
  uint32_t* const counters = dense_.data();
  if (!column_->single_valued()) {
    for (const uint32_t local : local_docids) {
      column_->ForEachValue(local, [&](ValueOrdinal value) { ++counters[value + 1]; });
    }
    return;
  }
  // Documents without a value are counted too, as code 0, which avoids a branch.
  column_->WithCodes([&](const auto* codes) {
    for (const uint32_t local : local_docids) ++counters[codes[local]];
  });
}

uint64_t SegmentCounter::Count(ValueOrdinal value) {
  switch (way_) {
    case Way::kAll: return PostingsCount(column_->postings(value));
    case Way::kSparse: {
      const auto at = std::lower_bound(sparse_.begin(), sparse_.end(), std::pair(value, 0u));
      return at != sparse_.end() && at->first == value ? at->second : 0;
    }
    case Way::kDense:
      return of_others_ ? PostingsCount(column_->postings(value)) - dense_[value + 1]
                        : dense_[value + 1];
    case Way::kIntersect: {
      if (ns_left_ < 0) {
        SegmentCounter* const self = this;
        Pass({&self, 1});
        return Count(value);
      }
      const PostingsReader postings(column_->postings(value));
      ns_left_ -= ColumnReader::NsOfIntersection(postings.count(), group_->size,
                                                 segment().documents->size());
      return postings.IntersectionSize(group_->documents);
    }
  }
  return 0;
}

ValueOrdinal SegmentCounter::Seek(ValueOrdinal from, ValueOrdinal end, uint64_t& count) {
  if (way_ == Way::kSparse) {
    const auto at = std::lower_bound(sparse_.begin(), sparse_.end(), std::pair(from, 0u));
    if (at == sparse_.end() || at->first >= end) return end;
    count = at->second;
    return at->first;
  }
  for (bool missed = from == 0; from < end; missed = true) {
    steps_.Step(16);
    if (missed && way_ == Way::kIntersect && ns_left_ >= 0 &&
        column_->SkipUp(from, end, group_->documents)) {
      ns_left_ -= ns_per_union_;
      continue;
    }
    count = Count(from);
    if (count > 0) return from;
    ++from;
  }
  return end;
}

ValueOrdinal SegmentCounter::SeekLast(ValueOrdinal begin, ValueOrdinal end) {
  if (way_ == Way::kSparse) {
    const auto at = std::lower_bound(sparse_.begin(), sparse_.end(), std::pair(end, 0u));
    if (at == sparse_.begin() || std::prev(at)->first < begin) return end;
    return std::prev(at)->first;
  }
  for (ValueOrdinal value = end; value > begin; --value) {
    steps_.Step(16);
    while (way_ == Way::kIntersect && ns_left_ >= 0 &&
           column_->SkipDown(value, begin, group_->documents)) {
      ns_left_ -= ns_per_union_;
    }
    if (value == begin) break;
    if (Count(value - 1) > 0) return value - 1;
  }
  return end;
}

DocId SegmentCounter::FirstCandidate(ValueOrdinal value) const {
  DocId first = UINT32_MAX;
  PostingsReader(column_->postings(value)).ForEach([&](DocId docid) -> bool {
    if (!group_->documents.Contains(docid)) return true;
    first = docid;
    return false;
  });
  return first;
}

FieldCounter::FieldCounter(const index::Snapshot& snapshot, FieldId field, const DocSet& candidates,
                           uint64_t values_wanted)
    : FieldCounter(snapshot, field, std::make_shared<CandidatesBySegment>(snapshot, candidates),
                   values_wanted) {
  Pass({this, 1});
}

FieldCounter::FieldCounter(const index::Snapshot& snapshot, FieldId field,
                           std::shared_ptr<const CandidatesBySegment> groups,
                           uint64_t values_wanted)
    : snapshot_(snapshot), field_(field), groups_(std::move(groups)) {
  for (const CandidatesBySegment::Group& group : groups_->groups()) {
    const ColumnReader* column = group.segment->columns->Find(field);
    if (column != nullptr && column->value_count() > 0)
      segments_.emplace_back(group, *column, values_wanted);
  }
}

void FieldCounter::Pass(std::span<FieldCounter> fields) {
  if (fields.empty()) return;
  for (const CandidatesBySegment::Group& group : fields[0].groups_->groups()) {
    std::vector<SegmentCounter*> counters;
    StopCounter steps;
    for (FieldCounter& field : fields) {
      steps.Step(16);
      for (SegmentCounter& counter : field.segments_) {
        if (&counter.group() == &group && counter.needs_pass()) counters.push_back(&counter);
      }
    }
    if (!counters.empty()) SegmentCounter::Pass(counters);
  }
}

std::optional<std::pair<double, double>> FieldCounter::NumberRange() {
  std::optional<std::pair<double, double>> range;
  for (SegmentCounter& counter : segments_) {
    const uint32_t numbers = counter.column().number_count();
    uint64_t count = 0;
    const ValueOrdinal first = counter.Seek(0, numbers, count);
    if (first == numbers) continue;
    const ValueOrdinal last = counter.SeekLast(first, numbers);
    const double min = counter.column().numbers()[first], max = counter.column().numbers()[last];
    if (!range) range = {min, max};
    range = {std::min(range->first, min), std::max(range->second, max)};
  }
  return range;
}

namespace {

// Looks in a document, in document order, for a string under a dotted name by its normalized form.
class SpellingSearch {
 public:
  explicit SpellingSearch(std::string_view normalised) : normalised_(normalised) {}

  // rest: the part of the name below `value`. Returns true if found.
  bool Look(std::string_view value, std::string_view rest) {
    switch (json::KindOf(value)) {
      case json::Kind::kArray: {
        bool found = false;
        json::ForEachElement(value,
                             [&](std::string_view item) { found = found || Look(item, rest); });
        return found;
      }
      case json::Kind::kObject: {
        if (rest.empty()) return false;
        bool found = false;
        json::ForEachMember(value, [&](std::string_view key, std::string_view member) -> bool {
          if (rest == key) {
            found = Look(member, "");
          } else if (rest.starts_with(key) && rest[key.size()] == '.') {
            const std::string below(rest.substr(key.size() + 1));
            found = Look(member, below);
          }
          return !found;
        });
        return found;
      }
      case json::Kind::kBoolean:
      case json::Kind::kString: {
        if (!rest.empty()) return false;
        std::string scratch;
        const bool is_string = json::KindOf(value) == json::Kind::kString;
        const std::string_view text = is_string ? json::StringValue(value, scratch) : value;
        text::NormalizeFacet(text, form_);
        if (form_.size() < normalised_.size() ||
            std::string_view(form_).substr(0, normalised_.size()) != normalised_) {
          return false;
        }
        // A stored form may be truncated.
        if (form_.size() != normalised_.size() && normalised_.size() + 4 <= kFacetStringBytesMax)
          return false;
        spelling_ = text;
        return true;
      }
      default: return false;
    }
  }
  std::string& spelling() { return spelling_; }

 private:
  std::string_view normalised_;
  std::string form_, spelling_;
};

}  // namespace

std::string FieldCounter::SpellingIn(SegmentCounter& counter, uint32_t string, DocId docid) {
  const ColumnReader& column = counter.column();
  const std::string first(column.spelling(string));
  if (!column.spelling_varies(string)) return first;
  const int64_t local = counter.segment().text->Find(docid);
  if (local < 0) return first;
  segment::RowCodec codec(snapshot_.dictionary);
  std::vector<segment::RowField> row;
  const auto bytes = codec.Expand(counter.segment().rows->at(static_cast<size_t>(local)));
  if (!bytes.ok() || !segment::ParseRow(*bytes, row)) {
    counter.segment().rows->file()->MarkCorrupt();
    return first;
  }
  const std::string_view name = snapshot_.fields->name(field_);
  SpellingSearch search(column.string(string));
  for (const segment::RowField& field : row) {
    const std::string& top = snapshot_.fields->name(field.field);
    if (!index::Covers(top, name)) continue;
    if (search.Look(field.value, name.size() == top.size() ? "" : name.substr(top.size() + 1))) {
      return std::move(search.spelling());
    }
  }
  return first;
}

std::string FieldCounter::Spelling(std::string_view normalised) {
  std::vector<ValueReference> references;
  for (uint32_t i = 0; i < segments_.size(); ++i) {
    const ColumnReader& column = segments_[i].column();
    const uint32_t string = column.LowerString(normalised);
    if (string == column.string_count() || column.string(string) != normalised) continue;
    if (segments_[i].Count(column.number_count() + string) > 0)
      references.push_back({i, column.number_count() + string});
  }
  return references.empty() ? std::string(normalised) : Spelling(references);
}

std::string FieldCounter::Spelling(std::span<const ValueReference> references) {
  const auto column_of = [&](const ValueReference& reference) -> const ColumnReader& {
    return segments_[reference.counter].column();
  };
  const auto string_of = [&](const ValueReference& reference) {
    return reference.value - column_of(reference).number_count();
  };
  const std::string_view first = column_of(references[0]).spelling(string_of(references[0]));
  const bool varies =
      std::any_of(references.begin(), references.end(), [&](const ValueReference& reference) {
        return column_of(reference).spelling_varies(string_of(reference)) ||
               column_of(reference).spelling(string_of(reference)) != first;
      });
  if (!varies) return std::string(first);
  const ValueReference* earliest = nullptr;
  DocId lowest = UINT32_MAX;
  for (const ValueReference& reference : references) {
    const DocId docid = segments_[reference.counter].FirstCandidate(reference.value);
    if (earliest == nullptr || docid < lowest) {
      earliest = &reference;
      lowest = docid;
    }
  }
  return SpellingIn(segments_[earliest->counter], string_of(*earliest), lowest);
}

}  // namespace gannet::search
