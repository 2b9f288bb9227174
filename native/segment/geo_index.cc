#include "segment/geo_index.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/bytes.h"

namespace gannet::segment {
namespace {

using filter::GeoBox;
using filter::GeoPoint;

constexpr uint64_t kVersion = 1;
// Points and nodes are stored in their memory layout.
static_assert(sizeof(GeoPoint) == 16 && sizeof(GeoIndex::Node) == 64);

// Bytes that Build collects before it hands them over.
constexpr size_t kHeldBytes = 64 << 10;

constexpr uint64_t DivideUp(uint64_t count, uint64_t by) { return (count + by - 1) / by; }

constexpr double kHalfway =
    filter::kEarthRadiusMetres * std::numbers::pi;  // the greatest possible distance
// The haversine formula loses up to 0.1 m near the antipode. Bounds are wider by this, in metres.
constexpr double kSlack = 1;

// Position of the cell (x, y) of a 65536 x 65536 grid along the Hilbert curve.
uint32_t HilbertKey(uint32_t x, uint32_t y) {
  uint32_t key = 0;
  for (uint32_t s = 1u << 15; s > 0; s >>= 1) {
    const uint32_t rx = (x & s) != 0, ry = (y & s) != 0;
    key += s * s * ((3 * rx) ^ ry);
    if (ry == 0) {
      if (rx == 1) {
        x = 65535 - x;
        y = 65535 - y;
      }
      std::swap(x, y);
    }
  }
  return key;
}

uint32_t CellOf(GeoPoint point) {
  const auto cell = [](double part) {
    return static_cast<uint32_t>(std::min(65535.0, part * 65536));
  };
  return HilbertKey(cell((point.lng + 180) / 360), cell((point.lat + 90) / 180));
}

// Sets the cap around the middle of a box. The farthest point of a box of at most 180 degrees from
// its middle is a corner: along a meridian the distance to a point less than 90 degrees of
// longitude away has no maximum inside.
void SetCap(GeoIndex::Node& node) {
  const GeoBox& box = node.box;
  node.centre = {.lat = (box.south + box.north) / 2, .lng = (box.west + box.east) / 2};
  if (box.east - box.west > 180) {
    node.radius = kHalfway;
    return;
  }
  node.radius = std::max(filter::HaversineMetres(node.centre, {.lat = box.south, .lng = box.west}),
                         filter::HaversineMetres(node.centre, {.lat = box.north, .lng = box.west}));
}

void Extend(GeoBox& box, const GeoBox& by) {
  box.south = std::min(box.south, by.south);
  box.north = std::max(box.north, by.north);
  box.west = std::min(box.west, by.west);
  box.east = std::max(box.east, by.east);
}

bool Encloses(const GeoBox& outer, const GeoBox& inner) {
  if (inner.south < outer.south || inner.north > outer.north) return false;
  if (outer.west <= outer.east) return inner.west >= outer.west && inner.east <= outer.east;
  return inner.west >= outer.west || inner.east <= outer.east;
}

// inner never crosses the antimeridian; outer may.
bool Overlaps(const GeoBox& outer, const GeoBox& inner) {
  if (inner.south > outer.north || inner.north < outer.south) return false;
  if (outer.west <= outer.east) return inner.west <= outer.east && inner.east >= outer.west;
  return inner.east >= outer.west || inner.west <= outer.east;
}

}  // namespace

void GeoIndex::Build(uint32_t count, const PointOf& point_of, const Sink& sink) {
  struct Keyed {
    uint32_t key, local;
  };
  std::vector<Keyed> order, beyond;
  for (uint32_t local = 0; local < count; ++local) {
    const std::optional<GeoPoint> point = point_of(local);
    if (!point) continue;
    if (std::fabs(point->lat) <= 90 && std::fabs(point->lng) <= 180) {
      order.push_back({CellOf(*point), local});
    } else {
      beyond.push_back({0, local});
    }
  }
  {
    // Radix sort by key, which keeps documents of one cell in their order.
    std::vector<Keyed> other(order.size());
    for (int shift = 0; shift < 32; shift += 11) {
      uint32_t counts[2049] = {};
      for (const Keyed& keyed : order) ++counts[(keyed.key >> shift & 2047) + 1];
      for (int i = 0; i < 2048; ++i) counts[i + 1] += counts[i];
      for (const Keyed& keyed : order) other[counts[keyed.key >> shift & 2047]++] = keyed;
      order.swap(other);
    }
  }
  const auto regular = static_cast<uint32_t>(order.size());
  order.insert(order.end(), beyond.begin(), beyond.end());

  std::vector<uint64_t> sizes{DivideUp(regular, kBlockPoints)};
  while (sizes.back() > kFanout) sizes.push_back(DivideUp(sizes.back(), kFanout));
  std::string out;
  for (const uint64_t number :
       {kVersion, uint64_t{order.size()}, uint64_t{regular}, uint64_t{sizes.size()}}) {
    PutFixed<uint64_t>(out, number);
  }
  for (const uint64_t size : sizes) PutFixed<uint64_t>(out, size);
  const auto hand_over = [&](size_t held) {
    if (out.size() <= held) return;
    sink(out);
    out.clear();
  };

  // The points, and the nodes over a block of them each.
  std::vector<Node> level;
  level.reserve(sizes[0]);
  for (uint32_t i = 0; i < order.size(); ++i) {
    const GeoPoint point = *point_of(order[i].local);
    out.append(reinterpret_cast<const char*>(&point), sizeof(point));
    hand_over(kHeldBytes);
    if (i >= regular) continue;
    if (i % kBlockPoints == 0)
      level.push_back({filter::Shape::kNoBounds, {}, 0, i, std::min(i + kBlockPoints, regular)});
    Extend(level.back().box, {point.lat, point.lng, point.lat, point.lng});
  }
  // The levels from the blocks up to the roots.
  for (size_t height = 0; height < sizes.size(); ++height) {
    std::vector<Node> above;
    for (uint32_t i = 0; i < level.size(); ++i) {
      SetCap(level[i]);
      out.append(reinterpret_cast<const char*>(&level[i]), sizeof(Node));
      hand_over(kHeldBytes);
      if (height + 1 == sizes.size()) continue;
      const auto end = std::min(i + kFanout, static_cast<uint32_t>(level.size()));
      if (i % kFanout == 0) above.push_back({filter::Shape::kNoBounds, {}, 0, i, end});
      Extend(above.back().box, level[i].box);
    }
    level = std::move(above);
  }
  for (const Keyed& keyed : order) {
    PutFixed<uint32_t>(out, keyed.local);
    hand_over(kHeldBytes);
  }
  hand_over(0);
}

Result<GeoIndex> GeoIndex::Open(std::string_view bytes, std::span<const uint32_t> docids) {
  const Status damaged = Status::Corruption("a geo index is damaged");
  ByteReader reader(bytes);
  const auto version = reader.Fixed<uint64_t>(), points = reader.Fixed<uint64_t>(),
             regular = reader.Fixed<uint64_t>(), levels = reader.Fixed<uint64_t>();
  if (!reader.ok() || version != kVersion || points > docids.size() || regular > points ||
      levels == 0 || levels > 16) {
    return damaged;
  }
  std::vector<uint64_t> sizes;
  for (uint64_t i = 0; i < levels; ++i) sizes.push_back(reader.Fixed<uint64_t>());
  GeoIndex index;
  index.docids_ = docids;
  index.regular_ = static_cast<uint32_t>(regular);
  const auto take = [&]<typename T>(uint64_t count, std::span<const T>& out) {
    if (count > reader.left() / sizeof(T)) return false;
    out = {reinterpret_cast<const T*>(reader.at()), count};
    reader.Bytes(count * sizeof(T));
    return true;
  };
  if (!take(points, index.points_)) return damaged;
  uint64_t below = regular;
  for (const uint64_t size : sizes) {
    std::span<const Node> level;
    if (!take(size, level)) return damaged;
    for (const Node& node : level) {
      if (node.begin >= node.end || node.end > below) return damaged;
    }
    index.levels_.push_back(level);
    below = size;
  }
  if (!take(points, index.locals_) || !reader.done() || !reader.ok()) return damaged;
  for (const uint32_t local : index.locals_) {
    if (local >= docids.size()) return damaged;
  }
  return index;
}

std::pair<uint32_t, uint32_t> GeoIndex::PointsBelow(uint32_t level, uint32_t node) const {
  uint32_t first = node, last = node;
  for (uint32_t i = level; i > 0; --i) {
    first = levels_[i][first].begin;
    last = levels_[i][last].end - 1;
  }
  return {levels_[0][first].begin, levels_[0][last].end};
}

GeoIndex::Bounds GeoIndex::DistanceBounds(const Node& node, GeoPoint point) {
  const double distance = filter::HaversineMetres(point, node.centre);
  return {std::max(0.0, distance - node.radius - kSlack),
          std::min(kHalfway, distance + node.radius) + kSlack};
}

template <typename Relate, typename Contains>
void GeoIndex::FindWhere(Relate&& relate, Contains&& contains, std::vector<uint32_t>& out) const {
  const auto test = [&](uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      if (contains(points_[i])) out.push_back(docid(i));
    }
  };
  test(regular_, size());
  std::vector<std::pair<uint32_t, uint32_t>> open;  // level, node
  const auto top = level_count() - 1;
  for (uint32_t i = 0; i < levels_[top].size(); ++i) open.emplace_back(top, i);
  while (!open.empty()) {
    const auto [level, index] = open.back();
    open.pop_back();
    const Node& node = levels_[level][index];
    const Relation relation = relate(node);
    if (relation == Relation::kOutside) continue;
    if (relation == Relation::kInside) {
      const auto [begin, end] = PointsBelow(level, index);
      Add(begin, end, out);
    } else if (level == 0) {
      test(node.begin, node.end);
    } else {
      for (uint32_t i = node.begin; i < node.end; ++i) open.emplace_back(level - 1, i);
    }
  }
}

void GeoIndex::FindInRadius(GeoPoint centre, double metres, std::vector<uint32_t>& out) const {
  if (!(metres >= 0)) return;
  const GeoBox around = filter::BoxAroundCircle(centre, metres);
  const auto relate = [&](const Node& node) {
    // A box test discards most nodes without any sine.
    if (!Overlaps(around, node.box)) return Relation::kOutside;
    const Bounds bounds = DistanceBounds(node, centre);
    if (bounds.min > metres) return Relation::kOutside;
    return bounds.max <= metres ? Relation::kInside : Relation::kPartly;
  };
  FindWhere(
      relate, [&](GeoPoint point) { return filter::HaversineMetres(centre, point) <= metres; },
      out);
}

void GeoIndex::FindInBox(const GeoBox& box, std::vector<uint32_t>& out) const {
  const auto relate = [&](const Node& node) {
    if (!Overlaps(box, node.box)) return Relation::kOutside;
    return Encloses(box, node.box) ? Relation::kInside : Relation::kPartly;
  };
  FindWhere(
      relate, [&](GeoPoint point) { return box.Contains(point); }, out);
}

}  // namespace gannet::segment
