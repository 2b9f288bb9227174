#include "indexing/job/settings.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "indexing/job/columns.h"
#include "indexing/job/workers.h"

namespace gannet::indexing {
namespace {

// Reads every document again and writes it to new segments, which replace the live ones.
Status RewriteDocuments(Batch& batch, const index::Settings& settings,
                        const std::map<std::string, Remake, std::less<>>& remakes) {
  const index::Snapshot& before = *batch.before;
  index::Commit& commit = batch.commit;
  // Adds the field in which vectors of a removed embedder are kept.
  if (!settings.SameVectors(*before.settings) && !before.fields->Find(kVectorsField)) {
    auto fields = std::make_shared<index::FieldMap>(*before.fields);
    GANNET_RETURN_IF_ERROR(fields->Add(kVectorsField, 0).status());
    commit.fields = fields;
  }
  Work work;
  work.before = &before;
  work.fields = commit.fields ? commit.fields : before.fields;
  work.traits = index::PlanFields(*work.fields, settings);
  work.settings = &settings;
  std::vector<uint32_t> dimensions;
  for (const index::EmbedderSettings& embedder : settings.embedders) {
    dimensions.push_back(embedder.dimensions != 0 ? embedder.dimensions
                                                  : before.DimensionsOf(embedder));
    const auto found = remakes.find(embedder.name);
    work.remakes.push_back(found == remakes.end() ? Remake::kNone : found->second);
  }
  work.embedders = ShapesOf(settings, dimensions);
  work.analyzer = index::MakeAnalyzer(settings);
  work.dictionary = before.dictionary;
  before.documents.ForEach([&](DocId docid) { work.changes.push_back({docid, kNone}); });
  GANNET_RETURN_IF_ERROR(WriteSegments(batch, work).status());
  for (const auto& segment : before.segments) commit.removed.push_back(segment->files.id);
  return Status::Ok();
}

}  // namespace

Status ApplySettings(Batch& batch, const CollectedSteps& steps,
                     const CollectedSteps::SettingsChange& change) {
  const index::Snapshot& before = *batch.before;
  const index::Settings settings = index::Settings::From(*change.stored);
  batch.commit.settings = change.stored;
  if (steps.cleared() || before.documents.empty()) return Status::Ok();
  const GeoPointCheck geo_points(before, settings);
  const bool same_vectors = settings.SameVectors(*before.settings) && change.remakes.empty();
  if (settings.SameText(*before.settings) && same_vectors)
    return BuildColumns(batch, index::PlanFields(*before.fields, settings), geo_points);
  // Checked before the long work begins.
  if (geo_points.needed()) GANNET_RETURN_IF_ERROR(geo_points.CheckAll(batch));
  return RewriteDocuments(batch, settings, change.remakes);
}

}  // namespace gannet::indexing
