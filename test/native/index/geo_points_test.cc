#include "index/geo_points.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "bitmap/random_docids.h"
#include "comparisons.h"
#include "filter/naive_geometry.h"
#include "segment/geo_index.h"

namespace gannet::index {
namespace {

using filter::GeoPoint;
using segment::GeoIndex;

// Documents of which some have no point.
class RandomPoints {
 public:
  // count: documents with a point
  explicit RandomPoints(uint32_t count, uint64_t seed = TestSeed()) : random_(seed) {
    while (entries.size() < count) {
      const auto local = static_cast<uint32_t>(docids.size());
      docids.push_back(local * 3 + 7);
      if (random_() % 8 != 0) entries.push_back({local, Point()});
    }
  }

  std::string Build() const {
    std::vector<std::optional<GeoPoint>> points(docids.size());
    for (const Entry& entry : entries) points[entry.local] = entry.point;
    std::string bytes;
    GeoIndex::Build(
        static_cast<uint32_t>(points.size()), [&](uint32_t local) { return points[local]; },
        [&](std::string_view piece) { bytes += piece; });
    return bytes;
  }

  double Fraction() {
    return static_cast<double>(random_() >> 11) / static_cast<double>(uint64_t{1} << 53);
  }

  GeoPoint Point() {
    switch (random_() % 5) {
      case 0: return {.lat = 90 - Fraction() * 0.01, .lng = Fraction() * 360 - 180};
      case 1:
        return {.lat = Fraction() * 4 - 2,
                .lng = random_() % 2 == 0 ? 180 - Fraction() : -180 + Fraction()};
      case 2: return {.lat = 48 + Fraction() * 0.0001, .lng = 2 + Fraction() * 0.0001};
      case 3:
        return random_() % 20 == 0
                   ? GeoPoint{.lat = Fraction() * 400 - 200, .lng = Fraction() * 900 - 450}
                   : GeoPoint{.lat = -90, .lng = 0};
      default: return {.lat = Fraction() * 180 - 90, .lng = Fraction() * 360 - 180};
    }
  }

  template <typename Test>
  std::vector<uint32_t> Passing(Test&& test) const {
    std::vector<uint32_t> out;
    for (const Entry& entry : entries) {
      if (test(entry.point)) out.push_back(docids[entry.local]);
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  std::mt19937_64& random() { return random_; }
  struct Entry {
    uint32_t local;  // of the document in its segment
    GeoPoint point;
  };
  std::vector<Entry> entries;
  std::vector<uint32_t> docids;

 private:
  std::mt19937_64 random_;
};

TEST(GeoOracle, FindsThePointsThatATestOfEachFinds) {
  std::mt19937_64 random(TestSeed());
  for (Comparisons comparisons(1500); comparisons.Left();) {
    static const uint32_t kCounts[] = {0, 1, 63, 64, 65, 300, 1500, 30000};
    const uint32_t count = random() % 20 == 0 ? kCounts[random() % 8] : kCounts[random() % 6];
    RandomPoints points(count, random());
    const std::string bytes = points.Build();
    const auto index = GeoIndex::Open(bytes, points.docids);
    ASSERT_TRUE(index.ok()) << index.status().message();
    for (int round = count > 1000 ? 20 : 100; round > 0 && comparisons.Next(); --round) {
      std::vector<uint32_t> found;
      if (round % 2 == 0) {
        const GeoPoint a = points.Point(), b = points.Point();
        const filter::GeoBox box{std::min(a.lat, b.lat), a.lng, std::max(a.lat, b.lat), b.lng};
        index->FindInBox(box, found);
        std::sort(found.begin(), found.end());
        ASSERT_EQ(found, points.Passing([&](GeoPoint p) {
          return filter::NaiveBoxHolds({box.north, box.east}, {box.south, box.west}, p);
        }));
        continue;
      }
      GeoPoint centre = points.Point();
      centre = {.lat = std::clamp(centre.lat, -90.0, 90.0),
                .lng = std::clamp(centre.lng, -180.0, 180.0)};
      const double metres = round % 10 == 1 ? 0 : std::pow(10.0, points.Fraction() * 8.4 - 1);
      index->FindInRadius(centre, metres, found);
      std::sort(found.begin(), found.end());
      // If rounding decides, use the formula of the engine.
      ASSERT_EQ(found, points.Passing([&](GeoPoint p) {
        return filter::NaiveWithin(centre, p, metres)
            .value_or(filter::HaversineMetres(centre, p) <= metres);
      })) << centre.lat
          << " " << centre.lng << " " << metres;
    }
  }
}

TEST(GeoIndex, KnowsBoundsOfTheDistanceToAllPointsBelowANode) {
  RandomPoints points(5000);
  const std::string bytes = points.Build();
  const auto index = GeoIndex::Open(bytes, points.docids);
  ASSERT_TRUE(index.ok());
  for (int round = 0; round < 200; ++round) {
    const GeoPoint origin{.lat = points.Fraction() * 180 - 90,
                          .lng = points.Fraction() * 360 - 180};
    for (const GeoIndex::Node& node : index->level(0)) {
      const auto bounds = GeoIndex::DistanceBounds(node, origin);
      for (uint32_t i = node.begin; i < node.end; ++i) {
        const double metres = filter::HaversineMetres(origin, index->point(i));
        ASSERT_LE(bounds.min, metres);
        ASSERT_GE(bounds.max, metres);
      }
    }
  }
}

TEST(GeoIndex, RefusesBytesThatAreNotAnIndex) {
  RandomPoints points(3000);
  const std::string bytes = points.Build();
  for (size_t size = 0; size < bytes.size(); size += 1 + points.random()() % 900) {
    EXPECT_FALSE(GeoIndex::Open(std::string_view(bytes).substr(0, size), points.docids).ok())
        << size;
  }
  EXPECT_FALSE(GeoIndex::Open(bytes + "12345678", points.docids).ok());
  EXPECT_FALSE(GeoIndex::Open(bytes, std::span(points.docids).first(2999)).ok());
  // Whatever a few wrong bytes do, nothing outside the bytes is read.
  for (int round = 0; round < 300; ++round) {
    std::string changed = bytes;
    for (int i = 0; i < 3; ++i)
      changed[points.random()() % changed.size()] = static_cast<char>(points.random()());
    const auto index = GeoIndex::Open(changed, points.docids);
    if (!index.ok()) continue;
    std::vector<uint32_t> found;
    index->FindInRadius(points.Point(), 1e6, found);
    EXPECT_LE(found.size(), 3000u);
  }
}

}  // namespace
}  // namespace gannet::index
