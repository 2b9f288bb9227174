#include "filter/geo.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "comparisons.h"
#include "filter/naive_geometry.h"

namespace gannet::filter {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

class Random {
 public:
  Random() : engine_(TestSeed()) {}
  double Between(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }
  int Below(int end) { return static_cast<int>(engine_() % static_cast<uint64_t>(end)); }
  // A point, uniformly distributed over the sphere.
  GeoPoint Point() { return {std::asin(Between(-1, 1)) / kDegree, Between(-180, 180)}; }

 private:
  std::mt19937_64 engine_;
};

Shape PointShape(GeoPoint point) {
  Shape shape;
  shape.points = {point};
  shape.bounds = {point.lat, point.lng, point.lat, point.lng};
  return shape;
}

TEST(DistanceOracle, IsTheAngleBetweenVectorsTimesTheRadius) {
  Random random;
  for (Comparisons comparisons(20000); comparisons.Next();) {
    const GeoPoint a = random.Point();
    GeoPoint b = random.Point();
    if (random.Below(2))
      b = {a.lat + random.Between(-1, 1) * 1e-3, a.lng + random.Between(-1, 1) * 1e-3};
    const double metres = HaversineMetres(a, b);
    ASSERT_NEAR(metres, NaiveMetres(a, b), 1e-6 + metres * 1e-9 + (metres > 1.99e7 ? 1 : 0));
    ASSERT_EQ(metres, HaversineMetres(b, a));
    ASSERT_EQ(HaversineMetres(a, a), 0);
  }
  EXPECT_NEAR(HaversineMetres({48.8606, 2.3376}, {45.7578, 4.832}), 392000, 2000);  // Paris to Lyon
}

TEST(Box, HoldsItsBordersAndMayCrossTheAntimeridian) {
  const GeoBox plain = BoxOf({49, 3}, {45, 2});
  EXPECT_TRUE(plain.Contains({49, 3}));
  EXPECT_TRUE(plain.Contains({45, 2}));
  EXPECT_FALSE(plain.Contains({49.0001, 3}));
  EXPECT_FALSE(plain.Contains({47, 1.9}));
  const GeoBox crossing = BoxOf({-10, -179}, {-20, 178});
  EXPECT_TRUE(crossing.Contains({-15, 178}));
  EXPECT_TRUE(crossing.Contains({-15, 180}));
  EXPECT_TRUE(crossing.Contains({-15, -179}));
  EXPECT_FALSE(crossing.Contains({-15, -178.9}));
  EXPECT_FALSE(crossing.Contains({-15, 0}));
}

TEST(Box, AroundACircleMissesNoPointInIt) {
  Random random;
  int inside = 0, outside_box = 0;
  for (int round = 0; round < 100000; ++round) {
    const GeoPoint centre = random.Point();
    const double metres = std::pow(10, random.Between(0, 7.3));
    const GeoBox box = BoxAroundCircle(centre, metres);
    GeoPoint point = random.Point();
    if (round % 2) {  // near the border of the circle
      const double reach = metres / 6371000 / kDegree;
      point = {centre.lat + random.Between(-1.1, 1.1) * reach,
               centre.lng + random.Between(-1.1, 1.1) * reach / std::cos(centre.lat * kDegree)};
      if (std::fabs(point.lat) > 90) continue;
      point.lng = std::remainder(point.lng, 360);
    }
    const bool in_circle = HaversineMetres(centre, point) <= metres;
    inside += in_circle;
    outside_box += !box.Contains(point);
    ASSERT_TRUE(!in_circle || box.Contains(point))
        << centre.lat << ' ' << centre.lng << ' ' << metres;
  }
  EXPECT_GT(inside, 1000);
  EXPECT_GT(outside_box, 1000);
  EXPECT_TRUE(BoxAroundCircle({10, 20}, 0).Contains({10, 20}));
}

TEST(Circle, IsThePointsWithinTheRadius) {
  Random random;
  int inside = 0;
  for (int round = 0; round < 3000; ++round) {
    GeoPoint centre = random.Point();
    if (round % 10 == 0) centre.lat = round % 20 ? 90 : -90;
    const double metres =
        round % 3 == 0 ? random.Between(1000, 2.0e7) : std::pow(10, random.Between(1, 6.5));
    const Shape circle = CircleShape(centre, metres, 1000);
    for (int i = 0; i < 20; ++i) {
      GeoPoint point = random.Point();
      if (i % 2) {
        const double reach = metres / 6371000 / kDegree;
        point = {centre.lat + random.Between(-1.5, 1.5) * reach,
                 centre.lng + random.Between(-1.5, 1.5) * reach};
        if (std::fabs(point.lat) > 90) continue;
        point.lng = std::remainder(point.lng, 360);
      }
      const double distance = HaversineMetres(centre, point);
      // The sides are straight on the plane, not on the globe: near the border either result may be
      // right.
      if (std::fabs(distance - metres) < 0.02 * metres + 1) continue;
      inside += distance < metres;
      ASSERT_EQ(Intersects(circle, PointShape(point)), distance < metres)
          << "centre " << centre.lat << ' ' << centre.lng << " metres " << metres << " point "
          << point.lat << ' ' << point.lng << " distance " << distance;
    }
  }
  EXPECT_GT(inside, 1000);
}

TEST(Circle, OfNoRadiusIsItsCentreAndOfANegativeOneNothing) {
  EXPECT_TRUE(Intersects(CircleShape({48.8606, 2.3376}, 0, 125), PointShape({48.8606, 2.3376})));
  EXPECT_FALSE(Intersects(CircleShape({48.8606, 2.3376}, 0, 125), PointShape({48.8606, 2.3377})));
  EXPECT_TRUE(CircleShape({1, 1}, -5, 125).empty());
  EXPECT_EQ(CircleShape({1, 1}, 5, 3).polygons[0][0].size(), 3u);
  EXPECT_TRUE(Intersects(CircleShape({0, 0}, 3e7, 125), PointShape({-89, 179})));
}

// ---- GeoJSON ----

std::string Json(std::string_view json) {
  const Result<Shape> shape = ParseGeoJson(json);
  if (!shape.ok()) {
    EXPECT_EQ(shape.status().detail(), "invalid_document_geojson_field") << json;
    return "error";
  }
  std::string out;
  const auto line = [&](const Shape::Line& points) {
    for (const GeoPoint p : points)
      out += std::to_string(int(p.lng)) + "," + std::to_string(int(p.lat)) + " ";
  };
  if (!shape->points.empty()) out += "points ", line(shape->points);
  for (const auto& l : shape->lines) out += "line ", line(l);
  for (const auto& polygon : shape->polygons) {
    out += "polygon ";
    for (const auto& ring : polygon) out += "ring ", line(ring);
  }
  return out;
}

TEST(GeoJson, ReadsEveryKindOfGeometry) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"type":"Point","coordinates":[2,48]})", "points 2,48 "},
      {R"( {"coordinates" : [2, 48, 300, 1] , "type" : "Point"} )", "points 2,48 "},
      {R"({"type":"MultiPoint","coordinates":[[2,48],[3,4]]})", "points 2,48 3,4 "},
      {R"({"type":"LineString","coordinates":[[2,48],[3,4]]})", "line 2,48 3,4 "},
      {R"({"type":"MultiLineString","coordinates":[[[2,48],[3,4]],[[0,0],[1,1],[2,2]]]})",
       "line 2,48 3,4 line 0,0 1,1 2,2 "},
      {R"({"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,0]],[[1,1],[2,1],[2,2]]]})",
       "polygon ring 0,0 9,0 9,9 ring 1,1 2,1 2,2 "},
      {R"({"type":"MultiPolygon","coordinates":[[[[0,0],[9,0],[9,9],[0,0]]],[[[1,1],[2,1],[2,2],[1,1]]]]})",
       "polygon ring 0,0 9,0 9,9 polygon ring 1,1 2,1 2,2 "},
      {R"({"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},
          {"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[3,4]}]}]})",
       "points 1,2 3,4 "},
      {R"({"type":"Feature","properties":{"type":"x","a":[{}]},"geometry":{"type":"Point","coordinates":[1,2]}})",
       "points 1,2 "},
      {R"({"type":"Feature","geometry":null})", ""},
      {R"({"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]}}]})",
       "points 1,2 "},
      {R"({"type":"FeatureCollection","features":[]})", ""},
      {R"({"type":"Point","coordinates":[]})", ""},
      {R"({"type":"Polygon","coordinates":[]})", ""},
      {R"({"type":"\u0050oint","coordinates":[1,2]})", "points 1,2 "},
      {"12", "error"},
      {"null", "error"},
      {"[]", "error"},
      {"{}", "error"},
      {R"({"type":"Circle","coordinates":[1,2]})", "error"},
      {R"({"type":"point","coordinates":[1,2]})", "error"},
      {R"({"type":7,"coordinates":[1,2]})", "error"},
      {R"({"type":"Point"})", "error"},
      {R"({"type":"Point","coordinates":[1]})", "error"},
      {R"({"type":"Point","coordinates":["1","2"]})", "error"},
      {R"({"type":"Point","coordinates":[[1,2]]})", "error"},
      {R"({"type":"Point","coordinates":null})", "error"},
      {R"({"type":"LineString","coordinates":[[1,2]]})", "error"},
      {R"({"type":"LineString","coordinates":[[],[1,2]]})", "error"},
      {R"({"type":"Polygon","coordinates":[[[0,0],[1,1],[0,0]]]})", "error"},
      {R"({"type":"Polygon","coordinates":[[0,0],[1,1],[2,0],[0,0]]})", "error"},
      {R"({"type":"Polygon","coordinates":[[]]})", "error"},
      {R"({"type":"MultiPoint","coordinates":[["x"],[1,2]]})", "error"},
      {R"({"type":"Feature"})", "error"},
      {R"({"type":"FeatureCollection","features":{}})", "error"},
      {R"({"type":"GeometryCollection","geometries":[5]})", "error"},
  };
  for (const auto& [json, expected] : cases) EXPECT_EQ(Json(json), expected) << json;

  std::string deep = R"({"type":"Point","coordinates":[1,2]})";
  for (int i = 0; i < 500; ++i)
    deep = R"({"type":"GeometryCollection","geometries":[)" + deep + "]}";
  EXPECT_EQ(Json(deep), "error");
}

TEST(GeoJson, BoundsHoldAllCoordinates) {
  const auto shape = ParseGeoJson(
      R"({"type":"MultiLineString","coordinates":[[[2,48],[3,-4]],[[0,0],[-1,1],[2,2]]]})");
  EXPECT_EQ(shape->bounds, (GeoBox{.south = -4, .west = -1, .north = 48, .east = 3}));
}

// ---- Intersection ----

// A convex part for the reference model: one to four corners on a small grid, with an optional
// rectangular hole in a rectangle.
struct Convex {
  std::vector<GeoPoint> corners;
  std::vector<GeoPoint> hole;
};

// Separating axes, in exact small integers: two convex sets are disjoint iff their projections on
// the normal of some edge are (and, for sets without area, on the direction of an edge or a
// coordinate axis).
bool ConvexMeet(const std::vector<GeoPoint>& a, const std::vector<GeoPoint>& b) {
  std::vector<std::pair<double, double>> axes = {{1, 0}, {0, 1}};
  for (const auto* set : {&a, &b}) {
    for (const GeoPoint p : *set) {
      for (const GeoPoint q : *set) {
        axes.push_back({q.lng - p.lng, q.lat - p.lat});
        axes.push_back({p.lat - q.lat, q.lng - p.lng});
      }
    }
  }
  for (const auto& [x, y] : axes) {
    const auto range = [&, x = x, y = y](const std::vector<GeoPoint>& set) {
      double low = 1e9, high = -1e9;
      for (const GeoPoint p : set) {
        low = std::min(low, x * p.lng + y * p.lat);
        high = std::max(high, x * p.lng + y * p.lat);
      }
      return std::pair(low, high);
    };
    const auto [low_a, high_a] = range(a);
    const auto [low_b, high_b] = range(b);
    if (high_a < low_b || high_b < low_a) return false;
  }
  return true;
}

// Only one of the two has a hole, which is inside its convex outline: the other one misses the rest
// only if it is strictly within the hole.
bool Meet(const Convex& a, const Convex& b) {
  if (!ConvexMeet(a.corners, b.corners)) return false;
  const auto within_hole = [](const Convex& part, const Convex& holed) {
    if (holed.hole.empty()) return false;
    return std::all_of(part.corners.begin(), part.corners.end(), [&](GeoPoint p) {
      return p.lng > holed.hole[0].lng && p.lng < holed.hole[2].lng && p.lat > holed.hole[0].lat &&
             p.lat < holed.hole[2].lat;
    });
  };
  return !within_hole(a, b) && !within_hole(b, a);
}

Convex RandomConvex(Random& random, bool may_have_hole) {
  const auto corner = [&] { return GeoPoint{double(random.Below(12)), double(random.Below(12))}; };
  Convex part;
  const int kind = random.Below(5);
  if (kind < 3) {
    for (int i = 0; i <= kind; ++i) part.corners.push_back(corner());
    return part;
  }
  const double south = random.Below(8), west = random.Below(8);
  const double north = south + 1 + random.Below(8), east = west + 1 + random.Below(8);
  const auto rectangle = [](double s, double w, double n, double e) {
    return std::vector<GeoPoint>{{s, w}, {s, e}, {n, e}, {n, w}};
  };
  part.corners = rectangle(south, west, north, east);
  if (kind == 4 && may_have_hole && north - south > 2 && east - west > 2) {
    part.hole = rectangle(south + 1, west + 1, north - 1, east - 1);
  }
  return part;
}

void AddTo(Shape& shape, const Convex& part, Random& random) {
  std::vector<GeoPoint> corners = part.corners;
  if (random.Below(2)) std::reverse(corners.begin(), corners.end());
  if (corners.size() == 1)
    shape.points.push_back(corners[0]);
  else if (corners.size() == 2)
    shape.lines.push_back(corners);
  else if (part.hole.empty())
    shape.polygons.push_back({corners});
  else
    shape.polygons.push_back({corners, part.hole});
  for (const GeoPoint p : corners) {
    shape.bounds = {std::min(shape.bounds.south, p.lat), std::min(shape.bounds.west, p.lng),
                    std::max(shape.bounds.north, p.lat), std::max(shape.bounds.east, p.lng)};
  }
}

TEST(IntersectionOracle, AgreesWithSeparatingAxesOfConvexParts) {
  Random random;
  uint64_t meet = 0, round = 0;
  for (Comparisons comparisons(100000); comparisons.Next(); ++round) {
    std::vector<Convex> parts_a, parts_b;
    Shape a, b;
    for (int i = 1 + random.Below(3); i > 0; --i)
      AddTo(a, parts_a.emplace_back(RandomConvex(random, true)), random);
    for (int i = 1 + random.Below(2); i > 0; --i)
      AddTo(b, parts_b.emplace_back(RandomConvex(random, false)), random);
    bool expected = false;
    for (const Convex& x : parts_a) {
      for (const Convex& y : parts_b) expected |= Meet(x, y);
    }
    meet += expected;
    ASSERT_EQ(Intersects(a, b), expected) << "round " << round;
    ASSERT_EQ(Intersects(b, a), expected) << round;
  }
  EXPECT_GT(meet, round / 5);
  EXPECT_LT(meet, round / 10 * 9);
}

TEST(PlaneOracle, AgreesWithALoopOverSidesAndPoints) {
  Random random;
  const auto ring = [&](int more) {
    Shape::Line corners;
    for (int i = 3 + random.Below(more); i > 0; --i) {
      corners.push_back({double(random.Below(12)), double(random.Below(12))});
    }
    return corners;
  };
  uint64_t meet = 0, made = 0;
  for (Comparisons comparisons(50000); comparisons.Next(); ++made) {
    // Any corners, including those of polygons that cross themselves.
    Shape shape;
    for (int i = 1 + random.Below(2); i > 0; --i) {
      switch (random.Below(4)) {
        case 0: shape.points.push_back(ring(1)[0]); break;
        case 1: shape.lines.push_back(ring(2)); break;
        case 2: shape.polygons.push_back({ring(4)}); break;
        default: AddTo(shape, RandomConvex(random, true), random);
      }
    }
    std::vector<GeoPoint> corners = ring(5);
    const Shape area = PolygonShape(corners);
    shape.bounds = Shape::kNoBounds;
    const auto extend = [&](GeoPoint p) {
      shape.bounds = {std::min(shape.bounds.south, p.lat), std::min(shape.bounds.west, p.lng),
                      std::max(shape.bounds.north, p.lat), std::max(shape.bounds.east, p.lng)};
    };
    std::for_each(shape.points.begin(), shape.points.end(), extend);
    for (const Shape::Line& line : shape.lines) std::for_each(line.begin(), line.end(), extend);
    for (const Shape::Polygon& polygon : shape.polygons)
      std::for_each(polygon[0].begin(), polygon[0].end(), extend);
    const bool expected = NaiveMeet(NaiveShapeOf(area), NaiveShapeOf(shape));
    meet += expected;
    ASSERT_EQ(Intersects(area, shape), expected) << "round " << made;
    ASSERT_EQ(Intersects(shape, area), expected) << "round " << made;
  }
  EXPECT_GT(meet, made / 5);
  EXPECT_LT(meet, made);
}

TEST(Intersection, FollowsConcaveOutlines) {
  // A U open to the north.
  const Shape u = PolygonShape({{0, 0}, {0, 9}, {9, 9}, {9, 6}, {3, 6}, {3, 3}, {9, 3}, {9, 0}});
  EXPECT_FALSE(Intersects(u, PointShape({6, 4.5})));
  EXPECT_TRUE(Intersects(u, PointShape({6, 1})));
  EXPECT_TRUE(Intersects(u, PointShape({3, 4})));
  EXPECT_FALSE(Intersects(u, BoxShape({8, 5}, {4, 4})));
  EXPECT_TRUE(Intersects(u, BoxShape({8, 7}, {4, 4})));
  EXPECT_FALSE(Intersects(u, Shape()));
}

TEST(Intersection, WithABoxOverTheAntimeridianSeesBothSides) {
  const Shape box = BoxShape({10, -170}, {-10, 170});
  EXPECT_TRUE(Intersects(box, PointShape({0, 175})));
  EXPECT_TRUE(Intersects(box, PointShape({0, -175})));
  EXPECT_FALSE(Intersects(box, PointShape({0, 0})));
  const Shape circle = CircleShape({-17, 179.9}, 300000, 125);
  EXPECT_TRUE(Intersects(circle, PointShape({-16.8433, -179.9672})));
  EXPECT_TRUE(Intersects(circle, PointShape({-18.1416, 178.4419})));
}

// ---- Stored form ----

TEST(StoredShape, ReadsBackAndRefusesDamage) {
  Random random;
  for (int round = 0; round < 300; ++round) {
    Shape shape;
    for (int i = random.Below(5); i > 0; --i) AddTo(shape, RandomConvex(random, true), random);
    std::string bytes;
    AppendShape(bytes, shape);
    const Result<Shape> back = ParseShape(bytes);
    ASSERT_TRUE(back.ok());
    ASSERT_EQ(*back, shape);
    ASSERT_EQ(*ParseShapeBounds(bytes), shape.bounds);
    for (size_t size = 0; size < bytes.size(); ++size) {
      ASSERT_FALSE(ParseShape(std::string_view(bytes).substr(0, size)).ok());
    }
    ASSERT_FALSE(ParseShape(bytes + "x").ok());
    for (int i = 0; i < 50; ++i) {
      std::string damaged = bytes;
      damaged[static_cast<size_t>(random.Below(static_cast<int>(bytes.size())))] =
          static_cast<char>(random.Below(256));
      const Result<Shape> read = ParseShape(damaged);
      if (read.ok()) (void)Intersects(*read, shape);
    }
  }
}

}  // namespace
}  // namespace gannet::filter
