// The locations of the documents of one segment: points in a packed tree, for finding those inside
// an area and those nearest to a point.
//
// The points are sorted along a Hilbert curve over latitude and longitude, in blocks of
// kBlockPoints. Each block, and each kFanout nodes of a level, have a bounding box and a bounding
// cap (a circle on the sphere that contains all of it). By the triangle inequality a cap gives
// bounds of the distance to any point, wherever the antimeridian and the poles are. After "Packed
// Hilbert R-trees": Kamel & Faloutsos, "On packing R-trees", CIKM 1993.
//
// Points with coordinates beyond the globe are stored separately, after the others, and are always
// tested.
//
// Bytes, version 1, 8-byte aligned: u64 version, u64 points, u64 regular points, u64 levels, u64
// nodes of each level; the points (f64 latitude, f64 longitude); the nodes, level by level, as
// Node; the local docid of each point's document (u32).
//
// Threads: immutable.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "filter/geo.h"

namespace gannet::segment {

class GeoIndex {
 public:
  static constexpr uint32_t kBlockPoints = 64;
  static constexpr uint32_t kFanout = 16;

  struct Node {
    filter::GeoBox box;       // never crosses the antimeridian
    filter::GeoPoint centre;  // of the cap
    double radius;            // of the cap, metres, rounded up
    uint32_t begin, end;      // children on the level below, or points
  };

  // The point of a document by its local docid; nothing if it has none.
  using PointOf = std::function<std::optional<filter::GeoPoint>(uint32_t local)>;
  // Takes the next bytes of an index.
  using Sink = std::function<void(std::string_view)>;
  // Builds an index of the points of documents [0, count). Calls point_of twice for a document.
  // Memory: 16 bytes per point.
  static void Build(uint32_t count, const PointOf& point_of, const Sink& sink);
  // Borrows bytes and docids (of the segment, by local docid). Corruption: sizes or numbers do not
  // fit.
  static Result<GeoIndex> Open(std::string_view bytes, std::span<const uint32_t> docids);

  uint32_t size() const { return static_cast<uint32_t>(points_.size()); }
  // Points [0, regular()) are in the tree, [regular(), size()) beyond the globe.
  uint32_t regular() const { return regular_; }
  const filter::GeoPoint& point(uint32_t i) const { return points_[i]; }
  DocId docid(uint32_t i) const { return docids_[locals_[i]]; }
  // Levels from the blocks (0) up to the roots.
  uint32_t level_count() const { return static_cast<uint32_t>(levels_.size()); }
  std::span<const Node> level(uint32_t i) const { return levels_[i]; }

  // Appends the documents within `metres` of `centre` (distance <= metres), in no order.
  void FindInRadius(filter::GeoPoint centre, double metres, std::vector<uint32_t>& out) const;
  void FindInBox(const filter::GeoBox& box, std::vector<uint32_t>& out) const;

  // Bounds of the distance from `point` to every point below `node`.
  struct Bounds {
    double min, max;
  };
  static Bounds DistanceBounds(const Node& node, filter::GeoPoint point);

 private:
  // How the points below a node relate to the area searched.
  enum class Relation { kOutside, kPartly, kInside };
  // Appends the points for which `contains` holds. relate: a bound on that for all points below a
  // node.
  template <typename Relate, typename Contains>
  void FindWhere(Relate&& relate, Contains&& contains, std::vector<uint32_t>& out) const;
  GeoIndex() = default;
  void Add(uint32_t begin, uint32_t end, std::vector<uint32_t>& out) const {
    for (uint32_t i = begin; i < end; ++i) out.push_back(docid(i));
  }
  // The points below a node: [first, last).
  std::pair<uint32_t, uint32_t> PointsBelow(uint32_t level, uint32_t node) const;

  std::span<const filter::GeoPoint> points_;
  std::span<const uint32_t> locals_, docids_;
  uint32_t regular_ = 0;
  std::vector<std::span<const Node>> levels_;
};

// A shape of a document, in its stored form (filter/geo.h).
struct StoredShape {
  DocId docid;
  filter::GeoBox bounds;
  std::string bytes;
};

}  // namespace gannet::segment
