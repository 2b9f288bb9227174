// Ordering documents by a field or by distance (docs/behaviour/ranking.md, sort): the `sort`
// parameter and the rules `field:asc`, `field:desc`.
//
// Order by a field: numbers, then strings, each in the requested direction; documents without a
// value come last in either direction. A document with several values is ordered by the one that
// comes first.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/ids.h"
#include "base/status.h"
#include "bitmap/docset.h"
#include "filter/formula.h"
#include "index/geo_points.h"
#include "index/snapshot.h"

namespace gannet::search {

struct SortCriterion {
  enum class Kind : uint8_t { kField, kGeo, kFormula };
  Kind kind = Kind::kField;
  std::string field = {};  // for kField; the text of a formula
  bool ascending = true;
  double lat = 0, lng = 0;                                   // for kGeo
  std::shared_ptr<const filter::Formula> formula = nullptr;  // for kFormula
  // The documents for which the conditions of the formula hold. Null: not evaluated yet.
  std::shared_ptr<const std::vector<DocSet>> conditions = nullptr;

  // `price:asc`, `_geoPoint(48.85, 2):asc`
  std::string label() const;
};

// Evaluates the conditions of formulas. Invalid, with `error_code`: an attribute of a condition may
// not be filtered in that way.
Status EvaluateConditions(const index::Snapshot& snapshot, Deadline& deadline,
                          const std::string& error_code, std::vector<SortCriterion>& criteria);

// Reads the `sort` parameter. If several criteria have the same field, the first one counts.
// error_code       code of an error: "invalid_search_sort", "invalid_document_sort"
// needs_sort_rule  refuse items if the ranking rules do not include `sort`; accept formulas
Result<std::vector<SortCriterion>> ParseSort(const std::vector<std::string>& items,
                                             const index::Settings& settings,
                                             const std::string& error_code, bool needs_sort_rule);

// The value by which a document is ordered.
struct SortValue {
  enum class Kind : uint8_t { kNone, kNumber, kString, kGeo };
  Kind kind = Kind::kNone;
  double number = 0;
  std::string string;  // in facet-normalised form
  double lat = 0, lng = 0;
  double distance = 0;       // metres
  bool by_distance = false;  // from a kGeo criterion; with kNone, a document without a point

  friend bool operator==(const SortValue&, const SortValue&) = default;
};

// Returns the documents of a set in order, as buckets of documents that are equal. Lazy: a page
// costs only its own buckets. By distance, a bucket is at most 1000 documents within a metre of the
// first.
// documents  live documents. Lifetime: borrows the snapshot.
class SortedBuckets {
 public:
  SortedBuckets(const index::Snapshot& snapshot, const SortCriterion& criterion, DocSet documents);
  ~SortedBuckets();
  SortedBuckets(SortedBuckets&&) noexcept;

  // Returns false at the end. value: that of the bucket; by distance, that of its first document.
  bool Next(DocSet& bucket, SortValue& value);

 private:
  class Segment;
  bool NextByField(DocSet& bucket, SortValue& value);
  bool NextByDistance(DocSet& bucket, SortValue& value);

  SortCriterion criterion_;
  std::vector<std::unique_ptr<Segment>> segments_;
  std::optional<index::PointsByDistance> points_;
  std::optional<index::PointsByDistance::Found> next_point_;
  DocSet remaining_;  // kept if the segments cannot give the last bucket
  bool last_given_ = false;
};

// The value by which a document is ordered.
SortValue SortValueOf(const index::Snapshot& snapshot, const SortCriterion& criterion, DocId docid);

// Negative: a comes first. Compares any two values of one criterion, also from different indexes.
int CompareSortValues(const SortValue& a, const SortValue& b, bool ascending);

// Appends the members of score details for the value: `"value":...`, and for a geo criterion
// `"distance":...` in metres with 3 decimals.
void AppendSortValueJson(const SortValue& value, std::string& out);

}  // namespace gannet::search
