#include "search/ranking/sort.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>

#include "base/json.h"
#include "base/stop_point.h"
#include "bitmap/postings_codec.h"
#include "index/evaluate_filter.h"
#include "segment/local_docids.h"

namespace gannet::search {
namespace {

using segment::ColumnReader;
using segment::ValueOrdinal;

// Documents at most this much farther than the first of a bucket belong to it.
constexpr double kSamePointMetres = 1;
constexpr uint32_t kSamePointDocumentsMax = 1000;
// Nanoseconds to sort the wanted documents by their own values: a constant, and per document if
// they are close together or scattered. After spending as much on values without wanted documents,
// the segment changes to sorting.
constexpr int64_t kFreeNs = 5000;
constexpr int64_t kNsPerCloseDocument = 10;
constexpr int64_t kNsPerDistantDocument = 25;
// Documents are close together if at least one in this many is wanted.
constexpr uint64_t kCloseShare = 20;

// The rank of a value in the order of a criterion; its own inverse.
uint32_t RankOf(const ColumnReader& column, bool ascending, ValueOrdinal value) {
  if (ascending) return value;
  const uint32_t numbers = column.number_count();
  return value < numbers ? numbers - 1 - value : numbers + column.value_count() - 1 - value;
}

SortValue ValueOf(const ColumnReader& column, ValueOrdinal value) {
  SortValue out;
  if (value < column.number_count()) {
    out.kind = SortValue::Kind::kNumber;
    out.number = column.numbers()[value];
  } else {
    out.kind = SortValue::Kind::kString;
    out.string = column.string(value - column.number_count());
  }
  return out;
}

SortValue NoPoint() {
  SortValue value;
  value.by_distance = true;
  return value;
}

template <typename T>
int Compare(const T& a, const T& b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

// Compares values of two columns.
int CompareValues(const ColumnReader& a, ValueOrdinal a_value, const ColumnReader& b,
                  ValueOrdinal b_value, bool ascending) {
  const bool a_string = a_value >= a.number_count(), b_string = b_value >= b.number_count();
  if (a_string != b_string) return a_string ? 1 : -1;
  const int order =
      a_string ? Compare(a.string(a_value - a.number_count()), b.string(b_value - b.number_count()))
               : Compare(a.numbers()[a_value], b.numbers()[b_value]);
  return ascending ? order : -order;
}

std::string_view TrimSpaces(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::optional<double> ParseCoordinate(std::string_view text, double limit) {
  text = TrimSpaces(text);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || !(std::fabs(number) <= limit))
    return std::nullopt;
  return number;
}

bool IsGeoName(std::string_view field) {
  for (const std::string_view name : {"_geo", "_geojson", "_geoDistance", "_geoPoint"}) {
    if (field == name) return true;
  }
  for (const std::string_view start :
       {"_geo(", "_geoPoint(", "_geoDistance(", "_geoRadius", "_geoBoundingBox", "_geoPolygon"}) {
    if (field.starts_with(start)) return true;
  }
  return false;
}

}  // namespace

std::string SortCriterion::label() const {
  std::string out = field;
  if (kind == Kind::kGeo) {
    out = "_geoPoint(";
    AppendJsonNumber(out, lat);
    out += ", ";
    AppendJsonNumber(out, lng);
    out += ')';
  }
  return out + (ascending ? ":asc" : ":desc");
}

Result<std::vector<SortCriterion>> ParseSort(const std::vector<std::string>& items,
                                             const index::Settings& settings,
                                             const std::string& error_code, bool needs_sort_rule) {
  std::vector<SortCriterion> criteria;
  for (const std::string& item : items) {
    const auto fault = [&](const std::string& reason) {
      return Status::Invalid("Invalid sort expression `" + item + "`: " + reason, error_code);
    };
    SortCriterion criterion;
    const size_t colon = item.rfind(':');
    const std::string_view direction =
        colon == item.npos ? "" : std::string_view(item).substr(colon + 1);
    if (direction != "asc" && direction != "desc")
      return fault("it must end with `:asc` or `:desc`.");
    criterion.ascending = direction == "asc";
    const std::string_view field = std::string_view(item).substr(0, colon);
    if (field.starts_with("_geoPoint(")) {
      criterion.kind = SortCriterion::Kind::kGeo;
      std::string_view arguments = field.substr(std::string_view("_geoPoint(").size());
      const size_t comma = arguments.find(',');
      if (comma == arguments.npos || !arguments.ends_with(')')) {
        return fault("`_geoPoint` takes two numbers: `_geoPoint(latitude, longitude)`.");
      }
      arguments.remove_suffix(1);
      const auto lat = ParseCoordinate(arguments.substr(0, comma), 90);
      const auto lng = ParseCoordinate(arguments.substr(comma + 1), 180);
      if (!lat) return fault("the latitude must be a number from -90 to 90.");
      if (!lng) return fault("the longitude must be a number from -180 to 180.");
      criterion.lat = *lat;
      criterion.lng = *lng;
      if (!settings.Sortable("_geo")) {
        return fault("`_geo` is not among the sortable attributes. " + settings.SortableText());
      }
    } else if (needs_sort_rule && filter::LooksLikeFormula(field) && !settings.Sortable(field)) {
      auto formula = filter::ParseFormula(field, {});
      if (!formula.ok()) return fault(formula.status().message() + ".");
      for (const std::string& name : (*formula)->fields) {
        if (settings.Sortable(name)) continue;
        return fault("the attribute `" + name + "` is not sortable. " + settings.SortableText());
      }
      criterion.kind = SortCriterion::Kind::kFormula;
      criterion.field = field;
      criterion.formula = std::move(*formula);
    } else {
      if (IsGeoName(field)) {
        return fault("`" + std::string(field) +
                     "` is reserved; documents are sorted by distance with "
                     "`_geoPoint(latitude, longitude)`.");
      }
      if (!settings.Sortable(field)) {
        return fault("the attribute `" + std::string(field) + "` is not sortable. " +
                     settings.SortableText());
      }
      criterion.field = field;
    }
    const bool repeated =
        std::any_of(criteria.begin(), criteria.end(), [&](const SortCriterion& earlier) {
          return earlier.kind == criterion.kind && earlier.field == criterion.field &&
                 earlier.lat == criterion.lat && earlier.lng == criterion.lng;
        });
    if (!repeated) criteria.push_back(std::move(criterion));
  }
  if (needs_sort_rule && !criteria.empty() &&
      std::none_of(settings.ranking_rules.begin(), settings.ranking_rules.end(),
                   [](const auto& rule) { return rule.name == "sort" && rule.field.empty(); })) {
    return Status::Invalid(
        "Sorting needs the ranking rule `sort`, which is not among the ranking rules of this "
        "index.",
        error_code);
  }
  return criteria;
}

Status EvaluateConditions(const index::Snapshot& snapshot, Deadline& deadline,
                          const std::string& error_code, std::vector<SortCriterion>& criteria) {
  for (SortCriterion& criterion : criteria) {
    if (criterion.formula == nullptr || criterion.formula->conditions.empty()) continue;
    auto sets = std::make_shared<std::vector<DocSet>>();
    for (const auto& condition : criterion.formula->conditions) {
      auto documents = index::EvaluateFilter(
          {.snapshot = snapshot, .features = {}, .deadline = &deadline}, *condition);
      if (!documents.ok()) {
        return Status::Invalid(
            "Invalid sort expression `" + criterion.field + "`: " + documents.status().message(),
            error_code);
      }
      sets->push_back(std::move(*documents));
    }
    criterion.conditions = std::move(sets);
  }
  return Status::Ok();
}

// Returns the wanted documents of one segment, bucket by bucket.
//
// First it walks the values in order and intersects each with the wanted documents. If too many
// values have none, it puts the wanted documents into a heap by the rank of their value.
class SortedBuckets::Segment {
 public:
  Segment(const index::SegmentView& view, const ColumnReader* column, bool ascending,
          DocSet documents)
      : view_(view), column_(column), ascending_(ascending), documents_(std::move(documents)) {
    size_ = documents_.size();
    const bool close = size_ * kCloseShare > view.documents->size();
    ns_left_ = kFreeNs +
               static_cast<int64_t>(size_) * (close ? kNsPerCloseDocument : kNsPerDistantDocument);
    if (column_ != nullptr) Advance();
  }

  bool has_bucket() const { return !bucket_.empty(); }
  const ColumnReader& column() const { return *column_; }
  ValueOrdinal value() const { return RankOf(*column_, ascending_, rank_); }

  // Moves the current bucket out and finds the next one.
  void Take(DocSet& out) {
    if (out.empty()) {
      out = std::move(bucket_);
    } else {
      out |= bucket_;
    }
    bucket_.Clear();
    ++rank_;
    Advance();
  }

  DocSet WithoutValue() const {
    if (column_ == nullptr) return documents_;
    return all_documents() - DecodePostings(column_->valued_bytes());
  }

 private:
  const DocSet& all_documents() const { return copied_ ? unvalued_base_ : documents_; }

  void Advance() {
    if (!by_document_) {
      AdvanceByValue();
    } else {
      AdvanceByDocument();
    }
  }

  void AdvanceByValue() {
    for (bool missed = rank_ == 0; rank_ < column_->value_count(); missed = true) {
      steps_.Step(16);
      if (ns_left_ < 0) {
        CollectDocuments();
        return AdvanceByDocument();
      }
      if (missed && SkipUnion()) continue;
      const std::string_view postings = column_->postings(value());
      IntersectPostings(postings, documents_, bucket_);
      if (bucket_.empty()) {
        Spend(PostingsCount(postings));
        ++rank_;
        continue;
      }
      // A document with several values is in the bucket of the first only.
      if (!column_->single_valued()) {
        if (!copied_) {
          unvalued_base_ = documents_;
          copied_ = true;
        }
        documents_ -= bucket_;
      }
      return;
    }
  }

  // Skips a whole union of values that begins here and has no wanted document. Returns false if
  // there is none.
  bool SkipUnion() {
    const uint32_t numbers = column_->number_count(), values = column_->value_count();
    if (ascending_) {
      const bool skipped = column_->SkipUp(rank_, values, documents_);
      if (skipped) Spend(size_);
      return skipped;
    }
    // Numbers come first, from last to first, then strings in the same order.
    const bool strings = rank_ >= numbers;
    ValueOrdinal next = value() + 1;
    const ValueOrdinal before = next;
    if (!column_->SkipDown(next, strings ? numbers : 0, documents_)) return false;
    rank_ += before - next;
    Spend(size_);
    return true;
  }

  void Spend(uint64_t count) {
    ns_left_ -= ColumnReader::NsOfIntersection(count, size_, view_.documents->size());
  }

  void CollectDocuments() {
    by_document_ = true;
    segment::ForEachLocal(view_.rows->local_docids(), documents_, [&](uint32_t local, DocId docid) {
      uint32_t first = UINT32_MAX;
      column_->ForEachValue(local, [&](ValueOrdinal value) {
        first = std::min(first, RankOf(*column_, ascending_, value));
      });
      if (first >= rank_ && first != UINT32_MAX) heap_.push_back(uint64_t{first} << 32 | docid);
    });
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  void AdvanceByDocument() {
    std::vector<uint32_t> docids;
    if (!heap_.empty()) rank_ = static_cast<uint32_t>(heap_.front() >> 32);
    while (!heap_.empty() && heap_.front() >> 32 == rank_) {
      docids.push_back(static_cast<uint32_t>(heap_.front()));
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      heap_.pop_back();
    }
    bucket_ = DocSet::FromSorted(docids);
  }

  const index::SegmentView& view_;
  const ColumnReader* column_;  // null: no document has a value
  bool ascending_;
  // Wanted documents; if the column has several values per document, those not returned yet.
  DocSet documents_;
  DocSet unvalued_base_;  // in that case all wanted documents
  bool copied_ = false;
  uint64_t size_ = 0;  // initial size of documents_
  int64_t ns_left_ = 0;
  bool by_document_ = false;
  std::vector<uint64_t> heap_;  // rank << 32 | docid, smallest on top
  uint32_t rank_ = 0;           // rank of the value of bucket_
  StopCounter steps_;
  DocSet bucket_;  // empty: no document with a value is left
};

SortedBuckets::SortedBuckets(const index::Snapshot& snapshot, const SortCriterion& criterion,
                             DocSet documents)
    : criterion_(criterion) {
  if (criterion.kind == SortCriterion::Kind::kGeo) {
    points_.emplace(snapshot, filter::GeoPoint{.lat = criterion.lat, .lng = criterion.lng},
                    criterion.ascending, documents);
    next_point_ = points_->Next();
    remaining_ = std::move(documents);
    return;
  }
  const auto field = snapshot.fields->Find(criterion.field);
  if (!field) {
    remaining_ = std::move(documents);
    return;
  }
  for (const auto& segment : snapshot.segments) {
    DocSet wanted = documents & segment->live;
    if (wanted.empty()) continue;
    segments_.push_back(std::make_unique<Segment>(*segment, segment->columns->Find(*field),
                                                  criterion.ascending, std::move(wanted)));
  }
}

SortedBuckets::~SortedBuckets() = default;
SortedBuckets::SortedBuckets(SortedBuckets&&) noexcept = default;

bool SortedBuckets::Next(DocSet& bucket, SortValue& value) {
  StopPoint();
  bucket.Clear();
  value = {};
  if (points_ ? NextByDistance(bucket, value) : NextByField(bucket, value)) return true;
  if (last_given_) return false;
  last_given_ = true;
  if (points_) value = NoPoint();
  bucket = std::move(remaining_);
  for (const auto& segment : segments_) bucket |= segment->WithoutValue();
  return !bucket.empty();
}

bool SortedBuckets::NextByField(DocSet& bucket, SortValue& value) {
  const Segment* first = nullptr;
  const auto order = [&](const Segment& a, const Segment& b) {
    return CompareValues(a.column(), a.value(), b.column(), b.value(), criterion_.ascending);
  };
  for (const auto& segment : segments_) {
    if (segment->has_bucket() && (first == nullptr || order(*segment, *first) < 0))
      first = segment.get();
  }
  if (first == nullptr) return false;
  const ColumnReader& column = first->column();
  const ValueOrdinal ordinal = first->value();
  value = ValueOf(column, ordinal);
  for (const auto& segment : segments_) {
    if (segment->has_bucket() && CompareValues(segment->column(), segment->value(), column, ordinal,
                                               criterion_.ascending) == 0) {
      segment->Take(bucket);
    }
  }
  return true;
}

bool SortedBuckets::NextByDistance(DocSet& bucket, SortValue& value) {
  if (!next_point_) return false;
  const index::PointsByDistance::Found first = *next_point_;
  value = {SortValue::Kind::kGeo, 0, {}, first.point.lat, first.point.lng, first.metres, true};
  for (uint32_t count = 0; next_point_ && count < kSamePointDocumentsMax; ++count) {
    if (std::fabs(next_point_->metres - first.metres) > kSamePointMetres) break;
    bucket.Add(next_point_->docid);
    next_point_ = points_->Next();
  }
  remaining_ -= bucket;
  return true;
}

SortValue SortValueOf(const index::Snapshot& snapshot, const SortCriterion& criterion,
                      DocId docid) {
  if (criterion.kind == SortCriterion::Kind::kGeo) {
    const auto point = index::PointOf(snapshot, docid);
    if (!point) return NoPoint();
    const double metres =
        filter::HaversineMetres({.lat = criterion.lat, .lng = criterion.lng}, *point);
    return {SortValue::Kind::kGeo, 0, {}, point->lat, point->lng, metres, true};
  }
  const auto field = snapshot.fields->Find(criterion.field);
  if (!field) return {};
  for (const auto& segment : snapshot.segments) {
    if (!segment->live.Contains(docid)) continue;
    const ColumnReader* column = segment->columns->Find(*field);
    const int64_t local = segment->text->Find(docid);
    if (column == nullptr || local < 0) return {};
    uint32_t first = UINT32_MAX;
    column->ForEachValue(static_cast<uint32_t>(local), [&](ValueOrdinal value) {
      first = std::min(first, RankOf(*column, criterion.ascending, value));
    });
    if (first == UINT32_MAX) return {};
    return ValueOf(*column, RankOf(*column, criterion.ascending, first));
  }
  return {};
}

int CompareSortValues(const SortValue& a, const SortValue& b, bool ascending) {
  using Kind = SortValue::Kind;
  if (a.kind != b.kind) {
    const auto order = [](Kind kind) {
      return kind == Kind::kNone ? 2 : kind == Kind::kString ? 1 : 0;
    };
    return Compare(order(a.kind), order(b.kind));
  }
  int order = 0;
  switch (a.kind) {
    case Kind::kNone: break;
    case Kind::kNumber: order = Compare(a.number, b.number); break;
    case Kind::kString: order = Compare(a.string, b.string); break;
    case Kind::kGeo: order = Compare(a.distance, b.distance); break;
  }
  return ascending ? order : -order;
}

void AppendSortValueJson(const SortValue& value, std::string& out) {
  out += "\"value\":";
  switch (value.kind) {
    case SortValue::Kind::kNone: out += "null"; break;
    case SortValue::Kind::kNumber: AppendJsonFloat(out, value.number); break;
    case SortValue::Kind::kString: AppendJsonString(out, value.string); break;
    case SortValue::Kind::kGeo:
      out += "{\"lat\":";
      AppendJsonFloat(out, value.lat);
      out += ",\"lng\":";
      AppendJsonFloat(out, value.lng);
      out += '}';
      break;
  }
  if (!value.by_distance) return;
  out += ",\"distance\":";
  if (value.kind == SortValue::Kind::kGeo) {
    AppendJsonFloat(out, std::round(value.distance * 1000) / 1000);
  } else {
    out += "null";
  }
}

}  // namespace gannet::search
