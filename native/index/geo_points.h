// The locations of the documents of an index: the geo filters, and the order of documents by
// distance.
//
// Points come from the columns of `_geo.lat` and `_geo.lng`, through one tree per segment
// (segment/geo_index.h); shapes from the attribute `_geojson` of the stored documents.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "bitmap/docset.h"
#include "filter/geo.h"
#include "index/snapshot.h"

namespace gannet::index {

// Live documents with a point within `metres` of `centre`, or inside the box; borders included.
DocSet PointsInRadius(const Snapshot& snapshot, filter::GeoPoint centre, double metres);
DocSet PointsInBox(const Snapshot& snapshot, const filter::GeoBox& box);

// Documents of `within` whose shape intersects `area`.
// cost  the first call on a segment reads all its documents.
Result<DocSet> ShapesIntersecting(const Snapshot& snapshot, const filter::Shape& area,
                                  const DocSet& within);

// The point of a document; nullopt if it has none.
std::optional<filter::GeoPoint> PointOf(const Snapshot& snapshot, DocId docid);

// Returns the documents of a set that have a point one by one, by distance from a point; equal
// distances by docid.
//
// Lazy: the trees are walked from the near side (or the far one) as far as needed. If most points
// found there are not of the set, the set's own points are sorted instead.
// Lifetime: borrows the snapshot.
class PointsByDistance {
 public:
  // nearest_first: if false, the farthest comes first.
  PointsByDistance(const Snapshot& snapshot, filter::GeoPoint origin, bool nearest_first,
                   const DocSet& documents);

  struct Found {
    DocId docid;
    filter::GeoPoint point;
    double metres;
  };
  // The next document; nullopt if none is left.
  std::optional<Found> Next();

 private:
  static constexpr uint32_t kPoint = UINT32_MAX;  // level of an entry that is a point

  // Something to visit: a node of a tree or a point. Ordered by the best distance that it can have.
  struct Entry {
    double key;  // distance, negative when the farthest comes first; for a node its best bound
    uint32_t segment;
    uint32_t level;
    uint32_t index;  // of the node on its level; for a point its docid
    filter::GeoPoint point;
  };
  // Heap order: the smallest key on top; nodes before points of that key, points by docid.
  struct After {
    bool operator()(const Entry& a, const Entry& b) const {
      if (a.key != b.key) return a.key > b.key;
      if ((a.level == kPoint) != (b.level == kPoint)) return a.level == kPoint;
      return a.index > b.index;
    }
  };
  struct Part {
    const SegmentView* segment;
    const segment::GeoIndex* points;
    DocSet documents;  // wanted and live
    uint64_t count;
  };
  void AddNode(uint32_t segment, uint32_t level, uint32_t index);
  void AddPoint(uint32_t segment, DocId docid, filter::GeoPoint point);
  void Push(const Entry& entry);
  void AddAllPoints(uint32_t segment);
  void Expand(const Entry& node);

  const Snapshot& snapshot_;
  filter::GeoPoint origin_;
  bool nearest_first_;
  std::vector<Part> parts_;
  std::vector<Entry> heap_;
  DocSet given_;            // kept while a tree is still walked
  uint64_t strangers_ = 0;  // points visited that are not wanted
  uint64_t strangers_max_ = 0;
  bool walking_ = false;
};

}  // namespace gannet::index
