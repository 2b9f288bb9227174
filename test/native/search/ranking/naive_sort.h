// A reference model that sorts all documents.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "index/naive_index.h"
#include "search/ranking/sort.h"

namespace gannet::search {

struct NaiveBucket {
  SortValue value;
  std::vector<uint32_t> docids;
};

inline SortValue NaiveSortValue(const NaiveDocument& document, const SortCriterion& criterion) {
  SortValue out;
  const NaiveValues& values = document.Of(criterion.field);
  if (!values.numbers.empty()) {
    const auto [min, max] = std::minmax_element(values.numbers.begin(), values.numbers.end());
    out.kind = SortValue::Kind::kNumber;
    out.number = criterion.ascending ? *min : *max;
  } else if (!values.strings.empty()) {
    const auto [min, max] = std::minmax_element(values.strings.begin(), values.strings.end());
    out.kind = SortValue::Kind::kString;
    out.string = criterion.ascending ? *min : *max;
  }
  return out;
}

inline std::vector<NaiveBucket> NaiveByField(const std::vector<const NaiveDocument*>& documents,
                                             const SortCriterion& criterion) {
  std::vector<NaiveBucket> located;
  for (const NaiveDocument* document : documents) {
    located.push_back({NaiveSortValue(*document, criterion), {document->docid}});
  }
  std::stable_sort(located.begin(), located.end(), [&](const auto& a, const auto& b) {
    const auto group = [](const SortValue& v) {
      return v.kind == SortValue::Kind::kNumber ? 0 : v.kind == SortValue::Kind::kString ? 1 : 2;
    };
    if (group(a.value) != group(b.value)) return group(a.value) < group(b.value);
    if (group(a.value) == 0 && a.value.number != b.value.number) {
      return (a.value.number < b.value.number) == criterion.ascending;
    }
    return a.value.string != b.value.string &&
           (a.value.string < b.value.string) == criterion.ascending;
  });
  std::vector<NaiveBucket> buckets;
  for (NaiveBucket& one : located) {
    if (!buckets.empty() && buckets.back().value == one.value) {
      buckets.back().docids.push_back(one.docids[0]);
    } else {
      buckets.push_back(std::move(one));
    }
  }
  return buckets;
}

inline std::vector<NaiveBucket> NaiveByDistance(const std::vector<const NaiveDocument*>& documents,
                                                const SortCriterion& criterion) {
  struct Located {
    double metres;
    filter::GeoPoint point;
    DocId docid;
  };
  std::vector<Located> located;
  NaiveBucket nowhere;
  nowhere.value.by_distance = true;
  for (const NaiveDocument* document : documents) {
    if (document->point) {
      const double metres =
          filter::HaversineMetres({criterion.lat, criterion.lng}, *document->point);
      located.push_back({metres, *document->point, document->docid});
    } else {
      nowhere.docids.push_back(document->docid);
    }
  }
  std::stable_sort(located.begin(), located.end(), [&](const Located& a, const Located& b) {
    return criterion.ascending ? a.metres < b.metres : a.metres > b.metres;
  });
  std::vector<NaiveBucket> buckets;
  for (const Located& one : located) {
    if (!buckets.empty() && buckets.back().docids.size() < 1000 &&
        std::fabs(one.metres - buckets.back().value.distance) <= 1) {
      buckets.back().docids.push_back(one.docid);
      continue;
    }
    NaiveBucket bucket;
    bucket.value = {SortValue::Kind::kGeo, 0, {}, one.point.lat, one.point.lng, one.metres, true};
    bucket.docids.push_back(one.docid);
    buckets.push_back(bucket);
  }
  for (NaiveBucket& bucket : buckets) std::sort(bucket.docids.begin(), bucket.docids.end());
  if (!nowhere.docids.empty()) buckets.push_back(nowhere);
  return buckets;
}

// documents  in ascending order of docids
inline std::vector<NaiveBucket> NaiveSort(const std::vector<const NaiveDocument*>& documents,
                                          const SortCriterion& criterion) {
  return criterion.kind == SortCriterion::Kind::kGeo ? NaiveByDistance(documents, criterion)
                                                     : NaiveByField(documents, criterion);
}

}  // namespace gannet::search
