#include "indexing/job/columns.h"

#include <algorithm>
#include <string_view>

#include "indexing/bounded_columns.h"
#include "indexing/extract.h"
#include "segment/columns.h"
#include "segment/file.h"

namespace gannet::indexing {
namespace {

// Reads the row of a document by its local docid in a segment. False: the document is dead.
Result<bool> ReadRow(Progress& progress, const index::SegmentView& segment, size_t local,
                     segment::RowCodec& codec, std::vector<segment::RowField>& fields) {
  if (local % 1024 == 0) {
    progress.Advance(1024);
    GANNET_RETURN_IF_ERROR(progress.Health());
  }
  if (!segment.all_live() && !segment.live.Contains(segment.rows->docids()[local])) return false;
  GANNET_ASSIGN_OR_RETURN(const std::string_view row, codec.Expand(segment.rows->at(local)));
  if (!segment::ParseRow(row, fields)) return Status::Corruption("a stored document is damaged");
  return true;
}

// The columns that a segment gets.
struct ColumnPlan {
  ColumnPlan(const std::vector<index::FieldTraits>& before,
             const std::vector<index::FieldTraits>& after)
      : made(after.size()), kept(after.size()) {
    // Elements are numbered for all fields together, and name the values of their columns.
    bool other_elements = false;
    for (size_t i = 0; i < after.size(); ++i)
      other_elements |= after[i].elements != before[i].elements;
    for (size_t i = 0; i < after.size(); ++i) {
      const bool again = other_elements && (after[i].elements || before[i].elements);
      kept[i] = after[i].faceted && before[i].faceted && !again;
      made[i] = after[i].faceted && !kept[i];
      any_made |= made[i];
      any_removed |= !after[i].faceted && before[i].faceted;
    }
    elements_kept = !other_elements;
  }
  std::vector<bool> made, kept;
  bool any_made = false, any_removed = false, elements_kept = true;
};

Status WriteColumns(const ColumnPlan& plan, const index::SegmentView& segment,
                    BoundedColumns& columns, segment::SegmentFileWriter& file,
                    const Progress& progress) {
  segment::ColumnsWriter writer(file);
  const auto pause = [&](uint64_t) { return progress.Health(); };
  using Kind = segment::ColumnKey::Kind;
  const auto elements =
      plan.elements_kept ? segment.columns->element_keys() : std::vector<segment::ColumnKey>();
  auto next = elements.begin();
  for (size_t i = 0; i < plan.made.size(); ++i) {
    const auto field = static_cast<FieldId>(i);
    if (plan.kept[i]) {
      const std::string_view blob = segment.columns->Blob(field);
      if (!blob.empty()) writer.Copy(field, blob);
    } else if (plan.made[i]) {
      GANNET_RETURN_IF_ERROR(columns.Write(field, writer, pause));
    }
    for (; next != elements.end() && next->kind == Kind::kElements && next->field == field; ++next)
      writer.Copy(*next, segment.columns->Blob(*next));
  }
  if (!plan.elements_kept) GANNET_RETURN_IF_ERROR(columns.WriteMaps(writer, pause));
  for (; next != elements.end(); ++next) writer.Copy(*next, segment.columns->Blob(*next));
  GANNET_RETURN_IF_ERROR(writer.Finish());
  return file.Finish();
}

}  // namespace

Status GeoPointCheck::Check(std::span<const segment::RowField> row) const {
  if (!needed()) return Status::Ok();
  const auto value_of = [&](std::optional<FieldId> wanted) {
    const auto found = std::find_if(row.begin(), row.end(),
                                    [&](const auto& field) { return field.field == wanted; });
    return found == row.end() ? std::string_view() : found->value;
  };
  const std::string_view id = value_of(key_), geo = value_of(geo_), shape = value_of(shape_);
  if (!geo.empty()) GANNET_RETURN_IF_ERROR(CheckGeo(id, geo));
  return shape.empty() ? Status::Ok() : CheckGeoJson(id, shape);
}

Status GeoPointCheck::CheckAll(Batch& batch) const {
  const index::Snapshot& before = *batch.before;
  segment::RowCodec codec(before.dictionary);
  std::vector<segment::RowField> fields;
  batch.progress.Begin("checking places", before.documents.size());
  for (const auto& segment : before.segments) {
    for (size_t local = 0; local < segment->rows->docids().size(); ++local) {
      GANNET_ASSIGN_OR_RETURN(const bool live,
                              ReadRow(batch.progress, *segment, local, codec, fields));
      if (live) GANNET_RETURN_IF_ERROR(Check(fields));
    }
  }
  return Status::Ok();
}

Status BuildColumns(Batch& batch, const std::vector<index::FieldTraits>& traits,
                    const GeoPointCheck& geo_points) {
  const index::Snapshot& before = *batch.before;
  const ColumnPlan plan(before.traits, traits);
  if (!plan.any_made && !plan.any_removed)
    return geo_points.needed() ? geo_points.CheckAll(batch) : Status::Ok();
  const bool reads_rows = plan.any_made || geo_points.needed();
  batch.progress.Begin("extracting facets", before.documents.size());
  for (const auto& segment : before.segments) {
    Extractor extractor(*before.fields, traits, *before.analyzer);
    segment::RowCodec codec(before.dictionary);
    const uint64_t number = batch.NewFile();
    GANNET_ASSIGN_OR_RETURN(auto file,
                            segment::SegmentFileWriter::Create(batch.index.FilePath(number)));
    BoundedColumns columns(file->folder(), batch.BuilderMemoryMax());
    std::vector<segment::RowField> fields;
    const auto docids = segment->rows->docids();
    for (size_t local = 0; local < docids.size() && reads_rows; ++local) {
      segment::ColumnBuilder& values = columns.BeginDocument(docids[local]);
      GANNET_ASSIGN_OR_RETURN(const bool live,
                              ReadRow(batch.progress, *segment, local, codec, fields));
      if (!live) continue;
      GANNET_RETURN_IF_ERROR(geo_points.Check(fields));
      extractor.ExtractColumns(fields, plan.made, values);
    }
    GANNET_RETURN_IF_ERROR(WriteColumns(plan, *segment, columns, *file, batch.progress));
    batch.commit.columns.emplace_back(segment->files.id, number);
  }
  return Status::Ok();
}

}  // namespace gannet::indexing
