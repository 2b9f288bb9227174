#include "filter/geo.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "base/bytes.h"
#include "base/json_reader.h"

namespace gannet::filter {
namespace {

constexpr double kDegree = std::numbers::pi / 180;

// Nesting of GeometryCollections; documents nest at most 128 levels.
constexpr int kCollectionDepthMax = 64;

void Extend(GeoBox& bounds, GeoPoint point) {
  bounds.south = std::min(bounds.south, point.lat);
  bounds.north = std::max(bounds.north, point.lat);
  bounds.west = std::min(bounds.west, point.lng);
  bounds.east = std::max(bounds.east, point.lng);
}

void Extend(GeoBox& bounds, const Shape::Line& line) {
  for (const GeoPoint point : line) Extend(bounds, point);
}

void SetBounds(Shape& shape) {
  shape.bounds = Shape::kNoBounds;
  Extend(shape.bounds, shape.points);
  for (const Shape::Line& line : shape.lines) Extend(shape.bounds, line);
  for (const Shape::Polygon& polygon : shape.polygons) {
    for (const Shape::Line& ring : polygon) Extend(shape.bounds, ring);
  }
}

}  // namespace

double HaversineMetres(GeoPoint a, GeoPoint b) {
  const double lat = std::sin((b.lat - a.lat) * kDegree / 2);
  const double lng = std::sin((b.lng - a.lng) * kDegree / 2);
  const double h = lat * lat + std::cos(a.lat * kDegree) * std::cos(b.lat * kDegree) * lng * lng;
  return 2 * kEarthRadiusMetres * std::asin(std::sqrt(std::clamp(h, 0.0, 1.0)));
}

bool GeoBox::Contains(GeoPoint point) const {
  if (point.lat < south || point.lat > north) return false;
  if (west <= east) return point.lng >= west && point.lng <= east;
  return point.lng >= west || point.lng <= east;
}

GeoBox BoxAroundCircle(GeoPoint centre, double metres) {
  // Slightly wider, so that rounding loses no point whose computed distance is within the radius.
  const double angle = metres / kEarthRadiusMetres * (1 + 1e-9) + 1e-12;
  GeoBox box;
  box.south = centre.lat - angle / kDegree;
  box.north = centre.lat + angle / kDegree;
  const bool reaches_pole = box.south <= -90 || box.north >= 90;
  if (reaches_pole) {
    // Includes latitudes beyond the globe, which documents may have.
    if (box.south <= -90) box.south = -1e300;
    if (box.north >= 90) box.north = 1e300;
    box.west = -1e300;
    box.east = 1e300;
    return box;
  }
  // The meridians that touch the circle: sin(half width) = sin(angle) / cos(latitude).
  const double half =
      std::asin(std::min(1.0, std::sin(angle) / std::cos(centre.lat * kDegree))) / kDegree + 1e-9;
  box.west = centre.lng - half;
  box.east = centre.lng + half;
  if (box.west < -180) box.west += 360;
  if (box.east > 180) box.east -= 360;
  return box;
}

// ---- GeoJSON ------------------------------------------------------------------------------------

namespace {

class GeoJsonReader {
 public:
  Status Read(std::string_view value, int depth) {
    if (json::KindOf(value) != json::Kind::kObject) return Fault("an object is expected");
    if (depth > kCollectionDepthMax) return Fault("its collections are nested too deeply");
    std::optional<std::string> type;
    std::string_view coordinates, geometries, geometry, features;
    json::ForEachMember(value, [&](std::string_view key, std::string_view member) {
      if (key == "type") {
        std::string scratch;
        if (json::KindOf(member) == json::Kind::kString)
          type = std::string(json::StringValue(member, scratch));
      } else if (key == "coordinates") {
        coordinates = member;
      } else if (key == "geometries") {
        geometries = member;
      } else if (key == "geometry") {
        geometry = member;
      } else if (key == "features") {
        features = member;
      }
    });
    if (!type) return Fault("it has no `type`");
    if (*type == "Feature") {
      if (geometry.empty()) return Fault("a `Feature` needs a `geometry`");
      return json::KindOf(geometry) == json::Kind::kNull ? Status::Ok() : Read(geometry, depth + 1);
    }
    if (*type == "FeatureCollection") return ReadAll("features", features, depth);
    if (*type == "GeometryCollection") return ReadAll("geometries", geometries, depth);
    return Geometry(*type, coordinates);
  }

  Shape Take() {
    SetBounds(shape_);
    return std::move(shape_);
  }

 private:
  static Status Fault(std::string reason) {
    return Status::Invalid("invalid GeoJSON: " + std::move(reason),
                           "invalid_document_geojson_field");
  }

  // Calls `each` for the items of an array, until one fails.
  template <typename Each>
  Status Items(std::string_view array, std::string_view what, Each&& each) {
    if (json::KindOf(array) != json::Kind::kArray || array.empty()) {
      return Fault(std::string(what) + " must be an array");
    }
    Status status;
    json::ForEachElement(array, [&](std::string_view item) {
      if (status.ok()) status = each(item);
    });
    return status;
  }

  Status ReadAll(std::string_view name, std::string_view array, int depth) {
    return Items(array, "`" + std::string(name) + "`",
                 [&](std::string_view item) { return Read(item, depth + 1); });
  }

  Status Geometry(const std::string& type, std::string_view coordinates) {
    const auto each = [&](auto&& read) { return Items(coordinates, "`coordinates`", read); };
    const auto point = [&](std::string_view value) { return Point(value); };
    const auto line = [&](std::string_view value) { return Line(value); };
    const auto polygon = [&](std::string_view value) { return Polygon(value); };
    if (type == "Point") return Point(coordinates);
    if (type == "MultiPoint") return each(point);
    if (type == "LineString") return Line(coordinates);
    if (type == "MultiLineString") return each(line);
    if (type == "Polygon") return Polygon(coordinates);
    if (type == "MultiPolygon") return each(polygon);
    return Fault("`" + type + "` is not a known type");
  }

  // One position; nullopt for an empty array.
  Status Position(std::string_view value, std::optional<GeoPoint>* position) {
    double numbers[2] = {};
    int count = 0;
    GANNET_RETURN_IF_ERROR(Items(value, "a position", [&](std::string_view item) {
      if (json::KindOf(item) != json::Kind::kNumber)
        return Fault("a position must consist of numbers");
      const double number = json::NumberValue(item);
      if (!std::isfinite(number)) return Fault("a coordinate is not finite");
      if (count < 2) numbers[count] = number;
      ++count;
      return Status::Ok();
    }));
    if (count == 1) return Fault("a position needs a longitude and a latitude");
    if (count >= 2) *position = GeoPoint{.lat = numbers[1], .lng = numbers[0]};
    return Status::Ok();
  }

  Status Positions(std::string_view value, Shape::Line* line) {
    return Items(value, "`coordinates`", [&](std::string_view item) {
      std::optional<GeoPoint> position;
      GANNET_RETURN_IF_ERROR(Position(item, &position));
      if (!position) return Fault("a position needs a longitude and a latitude");
      line->push_back(*position);
      return Status::Ok();
    });
  }

  Status Point(std::string_view value) {
    std::optional<GeoPoint> position;
    GANNET_RETURN_IF_ERROR(Position(value, &position));
    if (position) shape_.points.push_back(*position);
    return Status::Ok();
  }

  Status Line(std::string_view value) {
    Shape::Line line;
    GANNET_RETURN_IF_ERROR(Positions(value, &line));
    if (line.size() == 1) return Fault("a line needs two positions or more");
    if (!line.empty()) shape_.lines.push_back(std::move(line));
    return Status::Ok();
  }

  Status Polygon(std::string_view value) {
    Shape::Polygon polygon;
    GANNET_RETURN_IF_ERROR(Items(value, "`coordinates`", [&](std::string_view item) {
      Shape::Line ring;
      GANNET_RETURN_IF_ERROR(Positions(item, &ring));
      if (ring.size() > 1 && ring.front() == ring.back()) ring.pop_back();
      if (ring.size() < 3)
        return Fault("a ring of a polygon needs three different positions or more");
      polygon.push_back(std::move(ring));
      return Status::Ok();
    }));
    if (!polygon.empty()) shape_.polygons.push_back(std::move(polygon));
    return Status::Ok();
  }

  Shape shape_;
};

}  // namespace

Result<Shape> ParseGeoJson(std::string_view text) {
  const size_t start = json::SkipSpace(text, 0);
  GeoJsonReader reader;
  GANNET_RETURN_IF_ERROR(reader.Read(text.substr(start), 0));
  return reader.Take();
}

// ---- Areas --------------------------------------------------------------------------------------

namespace {

// The point at `angle` (radians on the sphere) from `centre` towards `bearing` (radians clockwise
// from north). The longitude is continuous around the centre's: at most 180 degrees from it.
GeoPoint Destination(GeoPoint centre, double angle, double bearing) {
  const double lat = centre.lat * kDegree;
  const double sin_lat =
      std::sin(lat) * std::cos(angle) + std::cos(lat) * std::sin(angle) * std::cos(bearing);
  const double east = std::sin(bearing) * std::sin(angle) * std::cos(lat);
  const double north = std::cos(angle) - std::sin(lat) * sin_lat;
  return {.lat = std::asin(std::clamp(sin_lat, -1.0, 1.0)) / kDegree,
          .lng = centre.lng + std::atan2(east, north) / kDegree};
}

// Repeats polygons that reach beyond +-180 degrees on the other side of the plane.
void WrapAround(Shape& shape) {
  SetBounds(shape);
  const std::vector<Shape::Polygon> polygons = shape.polygons;
  const auto repeat = [&](double shift) {
    for (Shape::Polygon polygon : polygons) {
      for (Shape::Line& ring : polygon) {
        for (GeoPoint& point : ring) point.lng += shift;
      }
      shape.polygons.push_back(std::move(polygon));
    }
  };
  const GeoBox bounds = shape.bounds;
  if (bounds.east > 180) repeat(-360);
  if (bounds.west < -180) repeat(360);
  SetBounds(shape);
}

Shape::Line BoxRing(double south, double west, double north, double east) {
  return {{south, west}, {south, east}, {north, east}, {north, west}};
}

// The corners of the circle, starting at `first_bearing`.
Shape::Line CircleRing(GeoPoint centre, double angle, int sides, double first_bearing) {
  Shape::Line ring;
  for (int i = 0; i < sides; ++i) {
    ring.push_back(Destination(centre, angle, first_bearing + 2 * std::numbers::pi * i / sides));
  }
  return ring;
}

}  // namespace

Shape CircleShape(GeoPoint centre, double metres, int sides) {
  Shape shape;
  if (!(metres >= 0)) return shape;
  if (metres == 0) {
    shape.points.push_back(centre);
    SetBounds(shape);
    return shape;
  }
  const double angle = metres / kEarthRadiusMetres;
  const bool north_pole = centre.lat * kDegree + angle >= std::numbers::pi / 2;
  const bool south_pole = centre.lat * kDegree - angle <= -std::numbers::pi / 2;
  if (angle >= std::numbers::pi) {
    shape.polygons.push_back({BoxRing(-90, -180, 90, 180)});
  } else if (north_pole && south_pole) {
    // The circle covers all but a circle around the antipode that holds neither pole.
    const GeoPoint antipode = {.lat = -centre.lat,
                               .lng = centre.lng > 0 ? centre.lng - 180 : centre.lng + 180};
    shape.polygons.push_back({BoxRing(-90, antipode.lng - 180, 90, antipode.lng + 180),
                              CircleRing(antipode, std::numbers::pi - angle, sides, 0)});
  } else if (north_pole || south_pole) {
    // On the plane the circle is a line from one side to the other; the pole closes it. The line
    // begins on the meridian opposite the centre, beyond the pole.
    const double pole = north_pole ? 90 : -90;
    Shape::Line ring = CircleRing(centre, angle, sides, north_pole ? 0 : std::numbers::pi);
    std::sort(ring.begin() + 1, ring.end(), [](GeoPoint a, GeoPoint b) { return a.lng < b.lng; });
    const GeoPoint far = ring[0];
    ring[0] = {far.lat, centre.lng - 180};
    ring.push_back({far.lat, centre.lng + 180});
    ring.push_back({pole, centre.lng + 180});
    ring.push_back({pole, centre.lng - 180});
    shape.polygons.push_back({std::move(ring)});
  } else {
    shape.polygons.push_back({CircleRing(centre, angle, sides, 0)});
  }
  WrapAround(shape);
  return shape;
}

GeoBox BoxOf(GeoPoint top_right, GeoPoint bottom_left) {
  return {.south = bottom_left.lat,
          .west = bottom_left.lng,
          .north = top_right.lat,
          .east = top_right.lng};
}

Shape BoxShape(GeoPoint top_right, GeoPoint bottom_left) {
  Shape shape;
  const double south = bottom_left.lat, west = bottom_left.lng, north = top_right.lat,
               east = top_right.lng;
  if (west <= east) {
    shape.polygons.push_back({BoxRing(south, west, north, east)});
  } else {
    shape.polygons.push_back({BoxRing(south, west, north, 180)});
    shape.polygons.push_back({BoxRing(south, -180, north, east)});
  }
  SetBounds(shape);
  return shape;
}

Shape PolygonShape(std::vector<GeoPoint> corners) {
  Shape shape;
  shape.polygons.push_back({std::move(corners)});
  SetBounds(shape);
  return shape;
}

// ---- Intersection -------------------------------------------------------------------------------

namespace {

struct Segment {
  GeoPoint a;
  GeoPoint b;
};

GeoBox BoundsOf(const Segment& s) {
  return {.south = std::min(s.a.lat, s.b.lat),
          .west = std::min(s.a.lng, s.b.lng),
          .north = std::max(s.a.lat, s.b.lat),
          .east = std::max(s.a.lng, s.b.lng)};
}

// The side of the line from a to b that the point is on: 1 left, -1 right, 0 on the line.
int Side(GeoPoint a, GeoPoint b, GeoPoint point) {
  const double cross =
      (b.lng - a.lng) * (point.lat - a.lat) - (b.lat - a.lat) * (point.lng - a.lng);
  return (cross > 0) - (cross < 0);
}

// REQUIRES: the bounds of the two overlap, which settles the collinear cases
bool Cross(const Segment& s, const Segment& t) {
  return Side(s.a, s.b, t.a) * Side(s.a, s.b, t.b) <= 0 &&
         Side(t.a, t.b, s.a) * Side(t.a, t.b, s.b) <= 0;
}

// The segments of a shape that come near `area`. A point is a segment of no length.
std::vector<Segment> SegmentsNear(const Shape& shape, const GeoBox& area) {
  std::vector<Segment> segments;
  const auto add = [&](GeoPoint a, GeoPoint b) {
    const Segment segment{a, b};
    if (BoundsOverlap(BoundsOf(segment), area)) segments.push_back(segment);
  };
  for (const GeoPoint point : shape.points) add(point, point);
  for (const Shape::Line& line : shape.lines) {
    for (size_t i = 1; i < line.size(); ++i) add(line[i - 1], line[i]);
  }
  for (const Shape::Polygon& polygon : shape.polygons) {
    for (const Shape::Line& ring : polygon) {
      for (size_t i = 0; i < ring.size(); ++i) add(ring[i], ring[i + 1 == ring.size() ? 0 : i + 1]);
    }
  }
  return segments;
}

// Whether a ray to the east crosses the ring an odd number of times. Not for points on the ring
// itself.
bool InsideRing(const Shape::Line& ring, GeoPoint point) {
  bool inside = false;
  for (size_t i = 0, j = ring.size() - 1; i < ring.size(); j = i++) {
    const GeoPoint a = ring[i], b = ring[j];
    if ((a.lat > point.lat) == (b.lat > point.lat)) continue;
    if (point.lng < (b.lng - a.lng) * (point.lat - a.lat) / (b.lat - a.lat) + a.lng)
      inside = !inside;
  }
  return inside;
}

bool InsidePolygon(const Shape::Polygon& polygon, GeoPoint point) {
  if (!InsideRing(polygon[0], point)) return false;
  for (size_t i = 1; i < polygon.size(); ++i) {
    if (InsideRing(polygon[i], point)) return false;
  }
  return true;
}

// True if one point of some part of `inner` is inside a polygon of `outer`.
bool PartInside(const Shape& inner, const Shape& outer) {
  const auto inside = [&](GeoPoint point) {
    return std::any_of(
        outer.polygons.begin(), outer.polygons.end(),
        [&](const Shape::Polygon& polygon) { return InsidePolygon(polygon, point); });
  };
  for (const GeoPoint point : inner.points) {
    if (inside(point)) return true;
  }
  for (const Shape::Line& line : inner.lines) {
    if (inside(line[0])) return true;
  }
  for (const Shape::Polygon& polygon : inner.polygons) {
    if (inside(polygon[0][0])) return true;
  }
  return false;
}

}  // namespace

bool Intersects(const Shape& a, const Shape& b) {
  if (a.empty() || b.empty() || !BoundsOverlap(a.bounds, b.bounds)) return false;
  // Either the borders meet, or each part is entirely inside or outside every polygon, so that
  // testing one of its points is enough.
  const std::vector<Segment> of_a = SegmentsNear(a, b.bounds);
  const std::vector<Segment> of_b = SegmentsNear(b, a.bounds);
  for (const Segment& s : of_a) {
    const GeoBox bounds = BoundsOf(s);
    for (const Segment& t : of_b) {
      if (BoundsOverlap(bounds, BoundsOf(t)) && Cross(s, t)) return true;
    }
  }
  return PartInside(a, b) || PartInside(b, a);
}

// ---- Stored form --------------------------------------------------------------------------------

namespace {

constexpr size_t kBoundsBytes = 4 * sizeof(double);
constexpr size_t kPointBytes = 2 * sizeof(double);

void PutLine(std::string& out, const Shape::Line& line) {
  PutVarint(out, line.size());
  for (const GeoPoint point : line) {
    PutFixed(out, point.lat);
    PutFixed(out, point.lng);
  }
}

// False if the bytes end too early or a coordinate is not finite.
bool GetLine(ByteReader& reader, size_t points_min, Shape::Line& line) {
  const uint64_t count = reader.Varint();
  if (!reader.ok() || count < points_min || count > reader.left() / kPointBytes) return false;
  line.resize(count);
  for (GeoPoint& point : line) {
    point.lat = reader.Fixed<double>();
    point.lng = reader.Fixed<double>();
    if (!std::isfinite(point.lat) || !std::isfinite(point.lng)) return false;
  }
  return reader.ok();
}

}  // namespace

void AppendShape(std::string& out, const Shape& shape) {
  for (const double side :
       {shape.bounds.south, shape.bounds.west, shape.bounds.north, shape.bounds.east}) {
    PutFixed(out, side);
  }
  PutLine(out, shape.points);
  PutVarint(out, shape.lines.size());
  for (const Shape::Line& line : shape.lines) PutLine(out, line);
  PutVarint(out, shape.polygons.size());
  for (const Shape::Polygon& polygon : shape.polygons) {
    PutVarint(out, polygon.size());
    for (const Shape::Line& ring : polygon) PutLine(out, ring);
  }
}

Result<GeoBox> ParseShapeBounds(std::string_view bytes) {
  if (bytes.size() < kBoundsBytes) return Status::Corruption("a stored shape is too short");
  ByteReader reader(bytes);
  GeoBox bounds;
  for (double* side : {&bounds.south, &bounds.west, &bounds.north, &bounds.east})
    *side = reader.Fixed<double>();
  return bounds;
}

Result<Shape> ParseShape(std::string_view bytes) {
  const Status corrupt = Status::Corruption("a stored shape is damaged");
  GANNET_ASSIGN_OR_RETURN(const GeoBox bounds, ParseShapeBounds(bytes));
  ByteReader reader(bytes.substr(kBoundsBytes));
  Shape shape;
  if (!GetLine(reader, 0, shape.points)) return corrupt;
  for (uint64_t i = reader.Varint(); i > 0; --i) {
    if (!GetLine(reader, 2, shape.lines.emplace_back())) return corrupt;
  }
  for (uint64_t i = reader.Varint(); i > 0; --i) {
    Shape::Polygon& polygon = shape.polygons.emplace_back();
    const uint64_t rings = reader.Varint();
    if (rings == 0) return corrupt;
    for (uint64_t j = rings; j > 0; --j) {
      if (!GetLine(reader, 3, polygon.emplace_back())) return corrupt;
    }
  }
  if (!reader.ok() || !reader.done()) return corrupt;
  SetBounds(shape);
  if (!(shape.bounds == bounds)) return corrupt;
  return shape;
}

}  // namespace gannet::filter
