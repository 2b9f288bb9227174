#include "search/sort.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bitmap/random_docids.h"
#include "index/random_documents.h"

namespace gannet::search {
namespace {

SortCriterion ByField(const std::string& field, bool ascending) {
  SortCriterion criterion;
  criterion.field = field;
  criterion.ascending = ascending;
  return criterion;
}

SortCriterion ByDistance(double lat, double lng, bool ascending) {
  SortCriterion criterion;
  criterion.kind = SortCriterion::Kind::kGeo;
  criterion.ascending = ascending;
  criterion.lat = lat;
  criterion.lng = lng;
  return criterion;
}

struct NaiveBucket {
  SortValue value;
  std::vector<uint32_t> docids;
};

SortValue NaiveValue(const json::Value& document, const SortCriterion& criterion) {
  SortValue out;
  const NaiveValues values = NaiveValuesOf(document, criterion.field);
  if (!values.numbers.empty()) {
    const auto [least, most] = std::minmax_element(values.numbers.begin(), values.numbers.end());
    out.kind = SortValue::Kind::kNumber;
    out.number = criterion.ascending ? *least : *most;
  } else if (!values.strings.empty()) {
    const auto [least, most] = std::minmax_element(values.strings.begin(), values.strings.end());
    out.kind = SortValue::Kind::kString;
    out.string = criterion.ascending ? *least : *most;
  }
  return out;
}

std::vector<NaiveBucket> NaiveByField(const std::map<DocId, json::Value>& trees, const DocSet& documents,
                                      const SortCriterion& criterion) {
  std::vector<NaiveBucket> placed;
  for (const auto& [docid, tree] : trees) {
    if (documents.Contains(docid)) placed.push_back({NaiveValue(tree, criterion), {docid}});
  }
  std::stable_sort(placed.begin(), placed.end(), [&](const auto& a, const auto& b) {
    const auto place = [](const SortValue& v) {
      return v.kind == SortValue::Kind::kNumber ? 0 : v.kind == SortValue::Kind::kString ? 1 : 2;
    };
    if (place(a.value) != place(b.value)) return place(a.value) < place(b.value);
    if (place(a.value) == 0 && a.value.number != b.value.number) {
      return (a.value.number < b.value.number) == criterion.ascending;
    }
    return a.value.string != b.value.string && (a.value.string < b.value.string) == criterion.ascending;
  });
  std::vector<NaiveBucket> buckets;
  for (NaiveBucket& one : placed) {
    if (!buckets.empty() && buckets.back().value == one.value) {
      buckets.back().docids.push_back(one.docids[0]);
    } else {
      buckets.push_back(std::move(one));
    }
  }
  return buckets;
}

std::vector<NaiveBucket> NaiveByDistance(const std::map<DocId, json::Value>& trees, const DocSet& documents,
                                         const SortCriterion& criterion) {
  struct Placed {
    double metres;
    filter::GeoPoint point;
    uint32_t docid;
  };
  std::vector<Placed> placed;
  NaiveBucket nowhere;
  nowhere.value.by_distance = true;
  for (const auto& [docid, tree] : trees) {
    if (!documents.Contains(docid)) continue;
    if (const auto point = NaivePointOf(tree)) {
      placed.push_back({filter::HaversineMetres({criterion.lat, criterion.lng}, *point), *point, docid});
    } else {
      nowhere.docids.push_back(docid);
    }
  }
  std::stable_sort(placed.begin(), placed.end(), [&](const Placed& a, const Placed& b) {
    return criterion.ascending ? a.metres < b.metres : a.metres > b.metres;
  });
  std::vector<NaiveBucket> buckets;
  for (const Placed& one : placed) {
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

void ExpectBuckets(const index::Snapshot& snapshot, const SortCriterion& criterion, const DocSet& documents,
                   const std::vector<NaiveBucket>& expected) {
  SortedBuckets sorted(snapshot, criterion, documents);
  DocSet bucket;
  SortValue value, before;
  size_t number = 0;
  while (sorted.Next(bucket, value)) {
    ASSERT_LT(number, expected.size()) << criterion.label();
    std::vector<uint32_t> docids;
    bucket.ToVector(docids);
    ASSERT_EQ(docids, expected[number].docids) << criterion.label() << " bucket " << number;
    ASSERT_EQ(value, expected[number].value) << criterion.label() << " bucket " << number;
    if (number > 0) {
      ASSERT_LE(CompareSortValues(before, value, criterion.ascending), 0) << criterion.label();
    }
    if (criterion.kind == SortCriterion::Kind::kField) {
      ASSERT_EQ(SortValueOf(snapshot, criterion, docids.back()), value) << criterion.label();
    } else {
      ASSERT_NEAR(SortValueOf(snapshot, criterion, docids.back()).distance, value.distance, 1.001);
    }
    before = value;
    ++number;
  }
  ASSERT_EQ(number, expected.size()) << criterion.label();
}

TEST(SortedBuckets, ComeInTheOrderOfANaiveSort) {
  RandomDocuments random(TestSeed());
  for (int round = 0; round < 14; ++round) {
    IndexedDocuments index(kRandomSettings);
    random.Fill(index, round % 3 == 2 ? 4000 : 300);
    const auto snapshot = index.snapshot();
    std::map<DocId, json::Value> trees;
    for (const auto& [docid, text] : index.documents()) trees[docid] = json::Value::Parse(text);
    for (int i = 0; i < 8; ++i) {
      const DocSet documents = i == 0 ? snapshot->documents : random.Some(snapshot->documents);
      for (const std::string field : {"mixed", "number", "tag", "o.x", "o", "never"}) {
        for (const bool ascending : {true, false}) {
          const SortCriterion criterion = ByField(field, ascending);
          ASSERT_NO_FATAL_FAILURE(
              ExpectBuckets(*snapshot, criterion, documents, NaiveByField(trees, documents, criterion)));
        }
      }
      static const double kPlaces[][2] = {{48.85, 2.35}, {-17, 180}, {90, 0}, {0.5, -120}};
      for (const auto& place : kPlaces) {
        for (const bool ascending : {true, false}) {
          const SortCriterion criterion = ByDistance(place[0], place[1], ascending);
          ASSERT_NO_FATAL_FAILURE(
              ExpectBuckets(*snapshot, criterion, documents, NaiveByDistance(trees, documents, criterion)));
        }
      }
    }
  }
}

TEST(SortedBuckets, FindAFewDocumentsFarFromTheBestValues) {
  IndexedDocuments index(kRandomSettings);
  std::map<DocId, std::string> batch;
  for (uint32_t docid = 0; docid < 20000; ++docid) {
    batch[docid] = "{\"number\":" + std::to_string(docid) + ",\"_geo\":{\"lat\":" + std::to_string(docid * 0.004) +
                   ",\"lng\":1}}";
  }
  index.Put(batch);
  const auto snapshot = index.snapshot();
  // Too many for the set to be sorted at once, and all of them at the far end.
  const DocSet documents = DocSet::Range(18500, 20000);
  for (const SortCriterion& criterion : {ByField("number", true), ByDistance(0, 1, true)}) {
    SortedBuckets sorted(*snapshot, criterion, documents);
    DocSet bucket;
    SortValue value;
    for (uint32_t docid = 18500; docid < 20000; ++docid) {
      ASSERT_TRUE(sorted.Next(bucket, value));
      ASSERT_EQ(bucket, DocSet::Range(docid, docid + 1)) << criterion.label();
    }
    EXPECT_FALSE(sorted.Next(bucket, value));
  }
}

TEST(ParseSort, RefusesWhatIsNoCriterion) {
  const auto settings = index::Settings::FromJson(
      json::Value::Parse(R"({"sortableAttributes":["price","_geo","made:on","été"]})"));
  const auto code = [&](const std::string& item) {
    const auto parsed = ParseSort({item}, settings, "invalid_search_sort", true);
    return parsed.ok() ? (*parsed)[0].label() : parsed.status().detail();
  };
  for (const char* item :
       {"price", "price:", ":asc", "price:up", "price:ASC", "price:asc:desc", "price :asc", " price:asc", "stars:asc",
        "*:asc", "Price:asc", "", "_geo:asc", "_geojson:asc", "_geoDistance:asc", "_geoPoint:asc", "_geoPoint(48, 2)",
        "_geoPoint(48):asc", "_geoPoint(48, 2, 1):asc", "_geoPoint(a, b):asc", "_geoPoint(91, 2):asc",
        "_geoPoint(48, 181):asc", "_geoPoint(48, 2):up", "_geoPoint(nan, 2):asc", "_geoRadius(48, 2, 3):asc",
        "_geoBoundingBox([1, 2], [3, 4]):asc", "_geo(1, 2):asc", "_geoPoint(48.8"}) {
    EXPECT_EQ(code(item), "invalid_search_sort") << item;
  }
  EXPECT_EQ(code("price:asc"), "price:asc");
  EXPECT_EQ(code("price.net:desc"), "price.net:desc");
  EXPECT_EQ(code("made:on:asc"), "made:on:asc");
  EXPECT_EQ(code("été:desc"), "été:desc");
  EXPECT_EQ(code("_geoPoint( 48.8566 ,2.0 ):asc"), "_geoPoint(48.8566, 2):asc");
  EXPECT_EQ(code("_geoPoint(-17,-180):desc"), "_geoPoint(-17, -180):desc");
}

TEST(ParseSort, KeepsTheFirstCriterionOfAField) {
  const auto settings = index::Settings::FromJson(json::Value::Parse(R"({"sortableAttributes":["a","b"]})"));
  const auto parsed = ParseSort({"a:asc", "b:desc", "a:desc"}, settings, "invalid_search_sort", true);
  ASSERT_TRUE(parsed.ok());
  ASSERT_EQ(parsed->size(), 2u);
  EXPECT_EQ((*parsed)[0].label(), "a:asc");
  EXPECT_EQ((*parsed)[1].label(), "b:desc");
}

TEST(ParseSort, NeedsTheRankingRuleOnlyWhereDocumentsAreRanked) {
  const auto settings = index::Settings::FromJson(
      json::Value::Parse(R"({"sortableAttributes":["a"],"rankingRules":["words"]})"));
  EXPECT_EQ(ParseSort({"a:asc"}, settings, "invalid_search_sort", true).status().detail(), "invalid_search_sort");
  EXPECT_TRUE(ParseSort({"a:asc"}, settings, "invalid_document_sort", false).ok());
  EXPECT_TRUE(ParseSort({}, settings, "invalid_search_sort", true).ok());
}

TEST(SortValueJson, HasTheMembersOfScoreDetails) {
  const auto text = [](const SortValue& value) {
    std::string out;
    AppendSortValueJson(value, out);
    return out;
  };
  EXPECT_EQ(text({SortValue::Kind::kNumber, -3.5, {}, 0, 0, 0, false}), R"("value":-3.5)");
  EXPECT_EQ(text({SortValue::Kind::kString, 0, "a\"b", 0, 0, 0, false}), R"("value":"a\"b")");
  EXPECT_EQ(text({}), R"("value":null)");
  EXPECT_EQ(text({SortValue::Kind::kGeo, 0, {}, 43.2951, 5.374, 44691.58049, true}),
            R"("value":{"lat":43.2951,"lng":5.374},"distance":44691.58)");
  EXPECT_EQ(text({SortValue::Kind::kNone, 0, {}, 0, 0, 0, true}), R"("value":null,"distance":null)");
}

}  // namespace
}  // namespace gannet::search
