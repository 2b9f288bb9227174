// Ordering documents by a field or by distance (docs/behaviour/ranking.md, sort): the `sort`
// parameter and the rules `field:asc`, `field:desc`.
//
// Order for a field: numbers, then strings, each in the direction asked for; documents without a
// value come last whatever the direction. A document with several values stands where the first of
// them does.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "bitmap/docset.h"
#include "index/geo_points.h"
#include "index/snapshot.h"

namespace gannet::search {

struct SortCriterion {
  enum class Kind : uint8_t { kField, kGeo };
  Kind kind = Kind::kField;
  std::string field = {};  // of kField
  bool ascending = true;
  double lat = 0, lng = 0;  // of kGeo

  // `price:asc`, `_geoPoint(48.85, 2):asc`
  std::string label() const;
};

// Reads the `sort` parameter. Of criteria on the same field the first one counts.
// error_code  of a fault: "invalid_search_sort", "invalid_document_sort"
// needs_sort_rule  items are refused when the ranking rules do not have `sort`
Result<std::vector<SortCriterion>> ParseSort(const std::vector<std::string>& items,
                                             const index::Settings& settings,
                                             const std::string& error_code, bool needs_sort_rule);

// What a document is placed by.
struct SortValue {
  enum class Kind : uint8_t { kNone, kNumber, kString, kGeo };
  Kind kind = Kind::kNone;
  double number = 0;
  std::string string;  // in facet-normalised form
  double lat = 0, lng = 0;
  double distance = 0;       // metres
  bool by_distance = false;  // of a kGeo criterion; with kNone a document without a point

  friend bool operator==(const SortValue&, const SortValue&) = default;
};

// Gives the documents of a set in order, as buckets of documents that are equal. Lazy: a page costs
// what its buckets cost. Documents at the same point are those within a metre of the first, at most
// 1000.
// documents  live ones. Lifetime: borrows the snapshot.
class SortedBuckets {
 public:
  SortedBuckets(const index::Snapshot& snapshot, const SortCriterion& criterion, DocSet documents);
  ~SortedBuckets();
  SortedBuckets(SortedBuckets&&) noexcept;

  // False: no document is left. value: of the bucket; by distance that of its first document.
  bool Next(DocSet& bucket, SortValue& value);

 private:
  class Segment;
  bool NextByField(DocSet& bucket, SortValue& value);
  bool NextByDistance(DocSet& bucket, SortValue& value);

  SortCriterion criterion_;
  std::vector<std::unique_ptr<Segment>> segments_;
  std::optional<index::PointsByDistance> points_;
  std::optional<index::PointsByDistance::Found> next_point_;
  DocSet remaining_;  // kept where the last bucket cannot be had from the segments
  bool last_given_ = false;
};

// The value a document is placed by.
SortValue SortValueOf(const index::Snapshot& snapshot, const SortCriterion& criterion, DocId docid);

// Below 0: a comes first. Any two values of one criterion, also of different indexes.
int CompareSortValues(const SortValue& a, const SortValue& b, bool ascending);

// The members of score details that show the value: `"value":...`, and of a geo criterion
// `"distance":...` in metres with 3 decimals.
void AppendSortValueJson(const SortValue& value, std::string& out);

}  // namespace gannet::search
