#include "index/geo_points.h"

#include <algorithm>

#include "base/json_reader.h"
#include "base/stop_point.h"
#include "segment/local_docids.h"
#include "segment/columns.h"

namespace gannet::index {
namespace {

using filter::GeoPoint;

// To find a page of documents in a tree of which they are the n-th part, about 20 n points are
// visited. Sorting the documents by their own points costs more than ten times as much for each of
// them, so it is better up to this many:
constexpr uint64_t kFewDocuments = 256;
bool IsFew(uint64_t documents, uint64_t points) {
  return documents <= kFewDocuments || documents * documents <= points * 8;
}
constexpr uint64_t kStrangersPerDocument =
    12;  // visiting this many points costs what sorting one document costs

struct GeoFields {
  FieldId lat, lng;
};

std::optional<GeoFields> FieldsOf(const Snapshot& snapshot) {
  const auto lat = snapshot.fields->Find("_geo.lat"), lng = snapshot.fields->Find("_geo.lng");
  if (!lat || !lng) return std::nullopt;
  return GeoFields{*lat, *lng};
}

const segment::GeoIndex& PointsOf(const SegmentView& segment, GeoFields fields) {
  return segment.columns->Points(fields.lat, fields.lng, segment.rows->docids());
}

template <typename Find>
DocSet CollectPoints(const Snapshot& snapshot, Find&& find) {
  DocSet found;
  const auto fields = FieldsOf(snapshot);
  if (!fields) return found;
  std::vector<uint32_t> docids;
  for (const auto& segment : snapshot.segments) {
    docids.clear();
    find(PointsOf(*segment, *fields), docids);
    DocSet part = segment::DocSetOf(docids);
    if (!segment->all_live()) part &= segment->live;
    found |= part;
  }
  return found;
}

std::vector<segment::StoredShape> ReadShapes(const Snapshot& snapshot, const SegmentView& segment,
                                             FieldId field) {
  std::vector<segment::StoredShape> shapes;
  segment::RowCodec codec(snapshot.dictionary);
  std::vector<segment::RowField> row;
  const auto docids = segment.rows->docids();
  for (size_t local = 0; local < docids.size(); ++local) {
    const auto bytes = codec.Expand(segment.rows->at(local));
    if (!bytes.ok() || !segment::ParseRow(*bytes, row)) {
      segment.rows->file()->MarkCorrupt();
      return {};
    }
    const auto found =
        std::find_if(row.begin(), row.end(), [&](const auto& f) { return f.field == field; });
    if (found == row.end() || json::KindOf(found->value) != json::Kind::kObject) continue;
    const auto shape = filter::ParseGeoJson(found->value);
    if (!shape.ok() || shape->empty()) continue;
    segment::StoredShape stored{docids[local], shape->bounds, {}};
    filter::AppendShape(stored.bytes, *shape);
    shapes.push_back(std::move(stored));
  }
  return shapes;
}

}  // namespace

DocSet PointsInRadius(const Snapshot& snapshot, GeoPoint centre, double metres) {
  return CollectPoints(snapshot, [&](const segment::GeoIndex& points, std::vector<uint32_t>& out) {
    points.FindInRadius(centre, metres, out);
  });
}

DocSet PointsInBox(const Snapshot& snapshot, const filter::GeoBox& box) {
  return CollectPoints(snapshot, [&](const segment::GeoIndex& points, std::vector<uint32_t>& out) {
    points.FindInBox(box, out);
  });
}

Result<DocSet> ShapesIntersecting(const Snapshot& snapshot, const filter::Shape& area,
                                  const DocSet& within) {
  DocSet found;
  const auto field = snapshot.fields->Find("_geojson");
  if (!field || area.empty()) return found;
  for (const auto& segment : snapshot.segments) {
    const auto shapes = segment->columns->Shapes(
        [&, view = segment.get()] { return ReadShapes(snapshot, *view, *field); });
    GANNET_RETURN_IF_ERROR(segment->Health());
    std::vector<uint32_t> docids;
    for (const segment::StoredShape& stored : shapes) {
      StopPoint();
      if (!BoundsOverlap(area.bounds, stored.bounds)) continue;
      if (!segment->live.Contains(stored.docid) || !within.Contains(stored.docid)) continue;
      GANNET_ASSIGN_OR_RETURN(const filter::Shape shape, filter::ParseShape(stored.bytes));
      if (Intersects(area, shape)) docids.push_back(stored.docid);
    }
    found |= DocSet::FromSorted(docids);
  }
  return found;
}

std::optional<GeoPoint> PointOf(const Snapshot& snapshot, DocId docid) {
  const auto fields = FieldsOf(snapshot);
  if (!fields) return std::nullopt;
  for (const auto& segment : snapshot.segments) {
    if (!segment->live.Contains(docid)) continue;
    const segment::ColumnReader* lats = segment->columns->Find(fields->lat);
    const segment::ColumnReader* lngs = segment->columns->Find(fields->lng);
    const int64_t local = segment->text->Find(docid);
    if (lats == nullptr || lngs == nullptr || local < 0) return std::nullopt;
    const auto lat = lats->NumberAt(static_cast<uint32_t>(local)),
               lng = lngs->NumberAt(static_cast<uint32_t>(local));
    if (!lat || !lng) return std::nullopt;
    return GeoPoint{.lat = *lat, .lng = *lng};
  }
  return std::nullopt;
}

PointsByDistance::PointsByDistance(const Snapshot& snapshot, GeoPoint origin, bool nearest_first,
                                   const DocSet& documents)
    : snapshot_(snapshot), origin_(origin), nearest_first_(nearest_first) {
  const auto fields = FieldsOf(snapshot);
  if (!fields) return;
  for (const auto& segment : snapshot.segments) {
    Part part{segment.get(), nullptr, documents & segment->live, 0};
    part.count = part.documents.size();
    if (part.count == 0) continue;
    const auto number = static_cast<uint32_t>(parts_.size());
    if (IsFew(part.count, segment->documents->size())) {
      parts_.push_back(std::move(part));
      AddAllPoints(number);
      continue;
    }
    part.points = &PointsOf(*segment, *fields);
    strangers_max_ += part.count * kStrangersPerDocument;
    walking_ = true;
    parts_.push_back(std::move(part));
    const segment::GeoIndex& points = *parts_[number].points;
    const uint32_t top = points.level_count() - 1;
    for (uint32_t i = 0; i < points.level(top).size(); ++i) AddNode(number, top, i);
    for (uint32_t i = points.regular(); i < points.size(); ++i) {
      if (parts_[number].documents.Contains(points.docid(i)))
        AddPoint(number, points.docid(i), points.point(i));
    }
  }
}

void PointsByDistance::Push(const Entry& entry) {
  heap_.push_back(entry);
  std::push_heap(heap_.begin(), heap_.end(), After());
}

void PointsByDistance::AddNode(uint32_t segment, uint32_t level, uint32_t index) {
  const auto bounds =
      segment::GeoIndex::DistanceBounds(parts_[segment].points->level(level)[index], origin_);
  Push({nearest_first_ ? bounds.min : -bounds.max, segment, level, index, {}});
}

void PointsByDistance::AddPoint(uint32_t segment, DocId docid, GeoPoint point) {
  const double metres = filter::HaversineMetres(origin_, point);
  Push({nearest_first_ ? metres : -metres, segment, kPoint, docid, point});
}

void PointsByDistance::AddAllPoints(uint32_t number) {
  const Part& part = parts_[number];
  const auto fields = FieldsOf(snapshot_);
  const segment::ColumnReader* lats = part.segment->columns->Find(fields->lat);
  const segment::ColumnReader* lngs = part.segment->columns->Find(fields->lng);
  if (lats == nullptr || lngs == nullptr) return;
  segment::ForEachLocal(
      part.segment->rows->local_docids(), part.documents, [&](uint32_t local, DocId docid) {
        if (const auto lat = lats->NumberAt(local)) {
          if (const auto lng = lngs->NumberAt(local)) {
            const GeoPoint point{.lat = *lat, .lng = *lng};
            const double metres = filter::HaversineMetres(origin_, point);
            heap_.push_back({nearest_first_ ? metres : -metres, number, kPoint, docid, point});
          }
        }
      });
  std::make_heap(heap_.begin(), heap_.end(), After());
}

void PointsByDistance::Expand(const Entry& entry) {
  const segment::GeoIndex& points = *parts_[entry.segment].points;
  const segment::GeoIndex::Node& node = points.level(entry.level)[entry.index];
  if (entry.level > 0) {
    for (uint32_t i = node.begin; i < node.end; ++i) AddNode(entry.segment, entry.level - 1, i);
    return;
  }
  for (uint32_t i = node.begin; i < node.end; ++i) {
    if (parts_[entry.segment].documents.Contains(points.docid(i))) {
      AddPoint(entry.segment, points.docid(i), points.point(i));
    } else {
      ++strangers_;
    }
  }
}

std::optional<PointsByDistance::Found> PointsByDistance::Next() {
  while (!heap_.empty()) {
    StopPoint();
    std::pop_heap(heap_.begin(), heap_.end(), After());
    const Entry entry = heap_.back();
    heap_.pop_back();
    if (entry.level == kPoint) {
      if (walking_) given_.Add(entry.index);
      return Found{entry.index, entry.point, nearest_first_ ? entry.key : -entry.key};
    }
    Expand(entry);
    if (strangers_ > strangers_max_) {
      // The set is far from where the walk is: it has fewer points of its own than the walk would
      // still visit.
      heap_.clear();
      for (uint32_t i = 0; i < parts_.size(); ++i) {
        parts_[i].documents -= given_;
        AddAllPoints(i);
      }
      walking_ = false;
      strangers_ = 0;
    }
  }
  return std::nullopt;
}

}  // namespace gannet::index
