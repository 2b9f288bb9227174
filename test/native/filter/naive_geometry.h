// Geometry in plain loops: distances on a globe, and shapes on a plane.
#pragma once

#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "filter/geo.h"

namespace gannet::filter {

// The angle between two vectors, times the radius.
inline double NaiveMetres(GeoPoint a, GeoPoint b) {
  constexpr double kDegree = std::numbers::pi / 180;
  const auto vector = [](GeoPoint p) {
    return std::array{std::cos(p.lat * kDegree) * std::cos(p.lng * kDegree),
                      std::cos(p.lat * kDegree) * std::sin(p.lng * kDegree),
                      std::sin(p.lat * kDegree)};
  };
  const auto u = vector(a), v = vector(b);
  const std::array cross = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2],
                            u[0] * v[1] - u[1] * v[0]};
  const double dot = u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
  return 6371000 * std::atan2(std::hypot(cross[0], cross[1], cross[2]), dot);
}

// Whether a distance that should be at most `limit` is; nullopt if rounding may decide either way.
inline std::optional<bool> NaiveWithin(GeoPoint a, GeoPoint b, double limit) {
  if (a == b) return limit >= 0;
  const double metres = NaiveMetres(a, b);
  const double margin = 1e-6 + metres * 1e-9 + (metres > 1.99e7 ? 1 : 0);
  if (std::fabs(metres - limit) <= margin) return std::nullopt;
  return metres < limit;
}

inline bool NaiveBoxHolds(GeoPoint top_right, GeoPoint bottom_left, GeoPoint point) {
  if (point.lat > top_right.lat || point.lat < bottom_left.lat) return false;
  const bool east = point.lng >= bottom_left.lng, west = point.lng <= top_right.lng;
  return bottom_left.lng <= top_right.lng ? east && west : east || west;
}

// A shape is the union of these parts.
struct NaiveShape {
  struct Point {
    double x, y;  // longitude, latitude
  };
  using Line = std::vector<Point>;
  std::vector<Line> lines;               // of at least one point
  std::vector<std::vector<Line>> areas;  // closed rings: an outline, then holes

  bool empty() const { return lines.empty() && areas.empty(); }
};

inline NaiveShape NaiveShapeOf(const Shape& shape) {
  NaiveShape out;
  const auto line = [](const Shape::Line& points, bool closed) {
    NaiveShape::Line vertices;
    for (const GeoPoint p : points) vertices.push_back({p.lng, p.lat});
    if (closed) vertices.push_back(vertices[0]);
    return vertices;
  };
  for (const GeoPoint p : shape.points) out.lines.push_back(line({p}, false));
  for (const Shape::Line& l : shape.lines) out.lines.push_back(line(l, false));
  for (const Shape::Polygon& polygon : shape.polygons) {
    for (auto& rings = out.areas.emplace_back(); const Shape::Line& ring : polygon)
      rings.push_back(line(ring, true));
  }
  return out;
}

// Adds the parts of a GeoJSON object.
inline void AddNaiveShape(const json::Value& object, NaiveShape& out) {
  const std::string& type = object["type"].string();
  const auto& coordinates = object["coordinates"].items();
  const auto point = [](const json::Value& value) {
    return NaiveShape::Point{value.items()[0].number(), value.items()[1].number()};
  };
  const auto line = [&](const json::Value& value) {
    NaiveShape::Line vertices;
    for (const json::Value& item : value.items()) vertices.push_back(point(item));
    return vertices;
  };
  const auto area = [&](const json::Value& value) {
    auto& rings = out.areas.emplace_back();
    for (const json::Value& ring : value.items()) {
      rings.push_back(line(ring));
      rings.back().push_back(rings.back()[0]);
    }
  };
  if (type == "Point") out.lines.push_back({point(object["coordinates"])});
  if (type == "LineString") out.lines.push_back(line(object["coordinates"]));
  if (type == "Polygon") area(object["coordinates"]);
  for (const json::Value& item : coordinates) {
    if (type == "MultiPoint") out.lines.push_back({point(item)});
    if (type == "MultiPolygon") area(item);
  }
  for (const json::Value& item : object["geometries"].items()) AddNaiveShape(item, out);
  if (type == "Feature") AddNaiveShape(object["geometry"], out);
}

inline NaiveShape NaiveShapeOf(const json::Value& object) {
  NaiveShape out;
  AddNaiveShape(object, out);
  return out;
}

inline double NaiveOrientation(NaiveShape::Point a, NaiveShape::Point b, NaiveShape::Point c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

inline bool NaiveOnSegment(NaiveShape::Point a, NaiveShape::Point b, NaiveShape::Point p) {
  return NaiveOrientation(a, b, p) == 0 && p.x >= std::min(a.x, b.x) && p.x <= std::max(a.x, b.x) &&
         p.y >= std::min(a.y, b.y) && p.y <= std::max(a.y, b.y);
}

inline bool NaiveSegmentsMeet(NaiveShape::Point a, NaiveShape::Point b, NaiveShape::Point c,
                              NaiveShape::Point d) {
  if (NaiveOnSegment(a, b, c) || NaiveOnSegment(a, b, d) || NaiveOnSegment(c, d, a) ||
      NaiveOnSegment(c, d, b))
    return true;
  return (NaiveOrientation(a, b, c) > 0) != (NaiveOrientation(a, b, d) > 0) &&
         (NaiveOrientation(c, d, a) > 0) != (NaiveOrientation(c, d, b) > 0) &&
         NaiveOrientation(a, b, c) != 0 && NaiveOrientation(a, b, d) != 0 &&
         NaiveOrientation(c, d, a) != 0 && NaiveOrientation(c, d, b) != 0;
}

// Whether a ray to the east crosses an odd number of sides. Not for points on a side.
inline bool NaiveInsideRing(const NaiveShape::Line& ring, NaiveShape::Point p) {
  bool inside = false;
  for (size_t i = 1; i < ring.size(); ++i) {
    NaiveShape::Point low = ring[i - 1], high = ring[i];
    if (low.y > high.y) std::swap(low, high);
    if (low.y <= p.y && p.y < high.y && NaiveOrientation(low, high, p) > 0) inside = !inside;
  }
  return inside;
}

inline bool NaiveInside(const std::vector<NaiveShape::Line>& rings, NaiveShape::Point p) {
  if (!NaiveInsideRing(rings[0], p)) return false;
  for (size_t i = 1; i < rings.size(); ++i) {
    if (NaiveInsideRing(rings[i], p)) return false;
  }
  return true;
}

// Exact if coordinates are small whole numbers.
inline bool NaiveMeet(const NaiveShape& a, const NaiveShape& b) {
  const auto lines_of = [](const NaiveShape& shape) {
    std::vector<NaiveShape::Line> lines = shape.lines;
    for (const auto& rings : shape.areas) lines.insert(lines.end(), rings.begin(), rings.end());
    for (NaiveShape::Line& line : lines) {
      if (line.size() == 1) line.push_back(line[0]);
    }
    return lines;
  };
  const auto of_a = lines_of(a), of_b = lines_of(b);
  for (const auto& s : of_a) {
    for (const auto& t : of_b) {
      for (size_t i = 1; i < s.size(); ++i) {
        for (size_t j = 1; j < t.size(); ++j) {
          if (NaiveSegmentsMeet(s[i - 1], s[i], t[j - 1], t[j])) return true;
        }
      }
    }
  }
  const auto inside = [](const std::vector<NaiveShape::Line>& lines, const NaiveShape& areas) {
    for (const auto& rings : areas.areas) {
      for (const auto& line : lines) {
        for (const NaiveShape::Point point : line) {
          if (NaiveInside(rings, point)) return true;
        }
      }
    }
    return false;
  };
  return inside(of_a, b) || inside(of_b, a);
}

}  // namespace gannet::filter
