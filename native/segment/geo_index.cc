#include "segment/geo_index.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace gannet::segment {
namespace {

using filter::GeoBox;
using filter::GeoPoint;

constexpr double kHalfway = filter::kEarthRadiusMetres * std::numbers::pi;  // the greatest distance there is
// The haversine formula loses up to 0.1 m near the antipode; bounds are wider by this, metres.
constexpr double kSlack = 1;

// Place of the cell (x, y) of a 65536 x 65536 grid along the Hilbert curve.
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
  const auto cell = [](double part) { return static_cast<uint32_t>(std::min(65535.0, part * 65536)); };
  return HilbertKey(cell((point.lng + 180) / 360), cell((point.lat + 90) / 180));
}

// The cap around the middle of a box. From its middle a box of at most 180 degrees reaches farthest at a corner: along
// a meridian the distance to a place less than 90 degrees of longitude away has no maximum inside.
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

GeoIndex::GeoIndex(std::span<const Entry> entries) {
  struct Keyed {
    uint32_t key, entry;
  };
  std::vector<Keyed> order, beyond;
  order.reserve(entries.size());
  for (uint32_t i = 0; i < entries.size(); ++i) {
    const GeoPoint point = entries[i].point;
    if (std::fabs(point.lat) <= 90 && std::fabs(point.lng) <= 180) {
      order.push_back({CellOf(point), i});
    } else {
      beyond.push_back({0, i});
    }
  }
  // Radix sort by key, which keeps entries of one cell in their order.
  std::vector<Keyed> other(order.size());
  for (int shift = 0; shift < 32; shift += 11) {
    uint32_t counts[2049] = {};
    for (const Keyed& keyed : order) ++counts[(keyed.key >> shift & 2047) + 1];
    for (int i = 0; i < 2048; ++i) counts[i + 1] += counts[i];
    for (const Keyed& keyed : order) other[counts[keyed.key >> shift & 2047]++] = keyed;
    order.swap(other);
  }
  regular_ = static_cast<uint32_t>(order.size());
  order.insert(order.end(), beyond.begin(), beyond.end());
  points_.reserve(order.size());
  docids_.reserve(order.size());
  for (const Keyed& keyed : order) {
    points_.push_back(entries[keyed.entry].point);
    docids_.push_back(entries[keyed.entry].docid);
  }
  BuildLevels();
}

void GeoIndex::BuildLevels() {
  std::vector<Node> blocks;
  for (uint32_t begin = 0; begin < regular_; begin += kBlockPoints) {
    Node node{filter::Shape::kNoBounds, {}, 0, begin, std::min(begin + kBlockPoints, regular_)};
    for (uint32_t i = begin; i < node.end; ++i) {
      node.box.south = std::min(node.box.south, points_[i].lat);
      node.box.north = std::max(node.box.north, points_[i].lat);
      node.box.west = std::min(node.box.west, points_[i].lng);
      node.box.east = std::max(node.box.east, points_[i].lng);
    }
    SetCap(node);
    blocks.push_back(node);
  }
  levels_.push_back(std::move(blocks));
  while (levels_.back().size() > kFanout) {
    const std::vector<Node>& below = levels_.back();
    std::vector<Node> nodes;
    for (uint32_t begin = 0; begin < below.size(); begin += kFanout) {
      Node node{filter::Shape::kNoBounds, {}, 0, begin,
                std::min(begin + kFanout, static_cast<uint32_t>(below.size()))};
      for (uint32_t i = begin; i < node.end; ++i) {
        node.box.south = std::min(node.box.south, below[i].box.south);
        node.box.north = std::max(node.box.north, below[i].box.north);
        node.box.west = std::min(node.box.west, below[i].box.west);
        node.box.east = std::max(node.box.east, below[i].box.east);
      }
      SetCap(node);
      nodes.push_back(node);
    }
    levels_.push_back(std::move(nodes));
  }
}

std::pair<uint32_t, uint32_t> GeoIndex::PointsBelow(uint32_t level, uint32_t node) const {
  uint32_t first = node, last = node;
  for (uint32_t i = level; i > 0; --i) {
    first = levels_[i][first].begin;
    last = levels_[i][last].end - 1;
  }
  return {levels_[0][first].begin, levels_[0][last].end};
}

GeoIndex::Bounds GeoIndex::DistanceBounds(const Node& node, GeoPoint place) {
  const double distance = filter::HaversineMetres(place, node.centre);
  return {std::max(0.0, distance - node.radius - kSlack), std::min(kHalfway, distance + node.radius) + kSlack};
}

void GeoIndex::FindInRadius(GeoPoint centre, double metres, std::vector<uint32_t>& out) const {
  if (!(metres >= 0)) return;
  const auto test = [&](uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      if (filter::HaversineMetres(centre, points_[i]) <= metres) out.push_back(docids_[i]);
    }
  };
  test(regular_, size());
  // A box test discards most nodes without any sine.
  const GeoBox around = filter::BoxAroundCircle(centre, metres);
  std::vector<std::pair<uint32_t, uint32_t>> open;  // level, node
  const auto top = level_count() - 1;
  for (uint32_t i = 0; i < levels_[top].size(); ++i) open.emplace_back(top, i);
  while (!open.empty()) {
    const auto [level, index] = open.back();
    open.pop_back();
    const Node& node = levels_[level][index];
    if (!Overlaps(around, node.box)) continue;
    const Bounds bounds = DistanceBounds(node, centre);
    if (bounds.least > metres) continue;
    if (bounds.most <= metres) {
      const auto [begin, end] = PointsBelow(level, index);
      out.insert(out.end(), docids_.begin() + begin, docids_.begin() + end);
    } else if (level == 0) {
      test(node.begin, node.end);
    } else {
      for (uint32_t i = node.begin; i < node.end; ++i) open.emplace_back(level - 1, i);
    }
  }
}

void GeoIndex::FindInBox(const GeoBox& box, std::vector<uint32_t>& out) const {
  const auto test = [&](uint32_t begin, uint32_t end) {
    for (uint32_t i = begin; i < end; ++i) {
      if (box.Contains(points_[i])) out.push_back(docids_[i]);
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
    if (!Overlaps(box, node.box)) continue;
    if (Encloses(box, node.box)) {
      const auto [begin, end] = PointsBelow(level, index);
      out.insert(out.end(), docids_.begin() + begin, docids_.begin() + end);
    } else if (level == 0) {
      test(node.begin, node.end);
    } else {
      for (uint32_t i = node.begin; i < node.end; ++i) open.emplace_back(level - 1, i);
    }
  }
}

}  // namespace gannet::segment
