#include "search/ranking/sort.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bitmap/random_docids.h"
#include "comparisons.h"
#include "index/random_documents.h"
#include "search/ranking/naive_sort.h"

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

void ExpectBuckets(const index::Snapshot& snapshot, const SortCriterion& criterion,
                   const DocSet& documents, const std::vector<NaiveBucket>& expected) {
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

TEST(SortOracle, BucketsComeInTheOrderOfANaiveSort) {
  RandomDocuments random(TestSeed());
  for (Comparisons comparisons(4000); comparisons.Left();) {
    IndexedDocuments index(kRandomSettings);
    const uint64_t size = random.Below(40);
    random.Fill(index, size == 0 ? 4000 : size < 16 ? 300 : 50);
    const auto snapshot = index.snapshot();
    const NaiveIndex documents(index, kRandomFields);
    for (int i = size == 0 ? 40 : 200; i > 0 && comparisons.Next(); --i) {
      const DocSet wanted = i % 20 == 0 ? snapshot->documents : random.Some(snapshot->documents);
      static const double kPoints[][2] = {{48.85, 2.35}, {-17, 180}, {90, 0}, {0.5, -120}};
      const double* point = kPoints[random.Below(4)];
      const bool ascending = random.Below(2) == 0;
      const SortCriterion criterion =
          random.Below(3) == 0
              ? ByDistance(point[0], point[1], ascending)
              : ByField(kRandomFields[random.Below(kRandomFields.size())], ascending);
      ASSERT_NO_FATAL_FAILURE(ExpectBuckets(*snapshot, criterion, wanted,
                                            NaiveSort(documents.Among(wanted), criterion)));
    }
  }
}

TEST(SortedBuckets, FindAFewDocumentsFarFromTheBestValues) {
  IndexedDocuments index(kRandomSettings);
  std::map<DocId, std::string> batch;
  for (DocId docid = 0; docid < 20000; ++docid) {
    batch[docid] = "{\"number\":" + std::to_string(docid) +
                   ",\"_geo\":{\"lat\":" + std::to_string(docid * 0.004) + ",\"lng\":1}}";
  }
  index.Put(batch);
  const auto snapshot = index.snapshot();
  // Too many for the set to be sorted immediately, and all at the far end.
  const DocSet documents = DocSet::Range(18500, 20000);
  for (const SortCriterion& criterion : {ByField("number", true), ByDistance(0, 1, true)}) {
    SortedBuckets sorted(*snapshot, criterion, documents);
    DocSet bucket;
    SortValue value;
    for (DocId docid = 18500; docid < 20000; ++docid) {
      ASSERT_TRUE(sorted.Next(bucket, value));
      ASSERT_EQ(bucket, DocSet::Range(docid, docid + 1)) << criterion.label();
    }
    EXPECT_FALSE(sorted.Next(bucket, value));
  }
}

TEST(ParseSort, RefusesItemsThatAreNotCriteria) {
  const auto settings = index::Settings::FromJson(
      json::Value::Parse(R"({"sortableAttributes":["price","_geo","made:on","été"]})"));
  const auto code = [&](const std::string& item) {
    const auto parsed = ParseSort({item}, settings, "invalid_search_sort", true);
    return parsed.ok() ? (*parsed)[0].label() : parsed.status().detail();
  };
  for (const char* item : {"price",
                           "price:",
                           ":asc",
                           "price:up",
                           "price:ASC",
                           "price:asc:desc",
                           "price :asc",
                           " price:asc",
                           "stars:asc",
                           "*:asc",
                           "Price:asc",
                           "",
                           "_geo:asc",
                           "_geojson:asc",
                           "_geoDistance:asc",
                           "_geoPoint:asc",
                           "_geoPoint(48, 2)",
                           "_geoPoint(48):asc",
                           "_geoPoint(48, 2, 1):asc",
                           "_geoPoint(a, b):asc",
                           "_geoPoint(91, 2):asc",
                           "_geoPoint(48, 181):asc",
                           "_geoPoint(48, 2):up",
                           "_geoPoint(nan, 2):asc",
                           "_geoRadius(48, 2, 3):asc",
                           "_geoBoundingBox([1, 2], [3, 4]):asc",
                           "_geo(1, 2):asc",
                           "_geoPoint(48.8"}) {
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
  const auto settings =
      index::Settings::FromJson(json::Value::Parse(R"({"sortableAttributes":["a","b"]})"));
  const auto parsed =
      ParseSort({"a:asc", "b:desc", "a:desc"}, settings, "invalid_search_sort", true);
  ASSERT_TRUE(parsed.ok());
  ASSERT_EQ(parsed->size(), 2u);
  EXPECT_EQ((*parsed)[0].label(), "a:asc");
  EXPECT_EQ((*parsed)[1].label(), "b:desc");
}

TEST(ParseSort, NeedsTheRankingRuleOnlyIfDocumentsAreRanked) {
  const auto settings = index::Settings::FromJson(
      json::Value::Parse(R"({"sortableAttributes":["a"],"rankingRules":["words"]})"));
  EXPECT_EQ(ParseSort({"a:asc"}, settings, "invalid_search_sort", true).status().detail(),
            "invalid_search_sort");
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
  EXPECT_EQ(text({SortValue::Kind::kNumber, 3, {}, 0, 0, 0, false}), R"("value":3.0)");
  EXPECT_EQ(text({SortValue::Kind::kString, 0, "a\"b", 0, 0, 0, false}), R"("value":"a\"b")");
  EXPECT_EQ(text({}), R"("value":null)");
  EXPECT_EQ(text({SortValue::Kind::kGeo, 0, {}, 43.2951, 5.374, 44691.58049, true}),
            R"("value":{"lat":43.2951,"lng":5.374},"distance":44691.58)");
  EXPECT_EQ(text({SortValue::Kind::kNone, 0, {}, 0, 0, 0, true}),
            R"("value":null,"distance":null)");
}

}  // namespace
}  // namespace gannet::search
