// Geometry of the geo filters: points with distances on the globe, and shapes compared on the
// plane.
//
// Points (`_geo`) are on a sphere: a radius is a great-circle distance. Shapes (`_geojson` and the
// areas of filters) are on the plane of longitude and latitude in degrees, where the sides of a
// polygon are straight lines, as in RFC 7946. All borders belong to the shape they bound.
//
// Quirks: an area of a filter that crosses the antimeridian is repeated 360 degrees to the other
// side; a document's shape is taken as written (RFC 7946 section 3.1.9 asks authors to cut such
// shapes). A ring that is not closed is closed; positions may have more numbers, which are ignored;
// coordinates are not checked against the globe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace gannet::filter {

inline constexpr double kEarthRadiusMetres = 6371000;

struct GeoPoint {
  double lat = 0;  // degrees
  double lng = 0;  // degrees

  friend bool operator==(const GeoPoint&, const GeoPoint&) = default;
};

// Great-circle distance (haversine formula). Symmetric; exactly 0 for equal points.
double HaversineMetres(GeoPoint a, GeoPoint b);

// An area between two parallels and two meridians, borders included. west > east: the area crosses
// the antimeridian.
struct GeoBox {
  double south = 0;
  double west = 0;
  double north = 0;
  double east = 0;

  bool Contains(GeoPoint point) const;

  friend bool operator==(const GeoBox&, const GeoBox&) = default;
};

// The smallest box around all points within `metres` of `centre`, for finding candidates.
// REQUIRES: metres >= 0
GeoBox BoxAroundCircle(GeoPoint centre, double metres);

// A set of points, lines and polygons; a location belongs to it if it is on any of them.
//
// Invariants  bounds is the smallest box around all coordinates, never crosses the antimeridian,
//             and is inside out (south > north) when there are none; lines have at least two
//             points; rings have at least three and do not repeat the first at the end; the first
//             ring of a polygon is its outline, the others are holes
struct Shape {
  using Line = std::vector<GeoPoint>;
  using Polygon = std::vector<Line>;

  std::vector<GeoPoint> points;
  std::vector<Line> lines;
  std::vector<Polygon> polygons;
  GeoBox bounds = kNoBounds;

  bool empty() const { return points.empty() && lines.empty() && polygons.empty(); }

  static constexpr GeoBox kNoBounds = {
      .south = 1e300, .west = 1e300, .north = -1e300, .east = -1e300};

  friend bool operator==(const Shape&, const Shape&) = default;
};

// Reads a GeoJSON object: any geometry, Feature or FeatureCollection (whose geometries are
// combined). Geometries with empty coordinates and Features with a null geometry contribute
// nothing.
// REQUIRES: `json` is valid JSON text of one value
// errors  Invalid with detail "invalid_document_geojson_field"; the message is only the reason
Result<Shape> ParseGeoJson(std::string_view json);

// ---- The areas of filters ----

// The regular polygon of `sides` corners on the circle of `metres` around `centre`, with straight
// sides on the plane. A circle around a pole extends to the pole. metres: 0 gives a point, a
// negative number an empty shape.
// REQUIRES: sides >= 3
Shape CircleShape(GeoPoint centre, double metres, int sides);

// REQUIRES: top_right.lat >= bottom_left.lat. Crosses the antimeridian if top_right.lng <
// bottom_left.lng.
Shape BoxShape(GeoPoint top_right, GeoPoint bottom_left);
GeoBox BoxOf(GeoPoint top_right, GeoPoint bottom_left);

// The polygon with these corners. REQUIRES: at least three corners
Shape PolygonShape(std::vector<GeoPoint> corners);

// True if some location belongs to both.
// cost  disjoint bounds end it at once; else the product of the numbers of sides near the other's
//       bounds
bool Intersects(const Shape& a, const Shape& b);

// ---- Stored form: bounds as four float64, then varint counts and float64 pairs (lat, lng),
// little-endian

void AppendShape(std::string& out, const Shape& shape);

// REQUIRES: `bytes` is one shape and nothing else. errors: Corruption
Result<Shape> ParseShape(std::string_view bytes);

// The bounds of a stored shape, without reading the rest. errors: Corruption
Result<GeoBox> ParseShapeBounds(std::string_view bytes);

// True if the two overlap or touch. REQUIRES: neither crosses the antimeridian
inline bool BoundsOverlap(const GeoBox& a, const GeoBox& b) {
  return a.south <= b.north && b.south <= a.north && a.west <= b.east && b.west <= a.east;
}

}  // namespace gannet::filter
