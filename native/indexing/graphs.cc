#include "indexing/graphs.h"

#include <algorithm>

#include "segment/graphs.h"

namespace gannet::indexing {
namespace {

const index::SegmentView* Find(const index::Snapshot& snapshot, SegmentId id) {
  const auto found = std::find_if(snapshot.segments.begin(), snapshot.segments.end(),
                                  [&](const auto& segment) { return segment->files.id == id; });
  return found == snapshot.segments.end() ? nullptr : found->get();
}

// For bits a scan is faster than a graph.
bool WantsGraph(const segment::EmbedderReader& embedder, uint32_t rows_min) {
  return !embedder.binary_quantised() && embedder.row_count() > rows_min;
}

}  // namespace

std::optional<SegmentId> PlanGraphs(const index::Snapshot& snapshot, uint32_t rows_min) {
  std::optional<SegmentId> best;
  uint32_t best_rows = 0;
  for (const auto& segment : snapshot.segments) {
    if (segment->graphs != nullptr) continue;
    for (const segment::EmbedderReader& embedder : segment->vectors->embedders()) {
      if (!WantsGraph(embedder, rows_min) || embedder.row_count() <= best_rows) continue;
      best_rows = embedder.row_count();
      best = segment->files.id;
    }
  }
  return best;
}

Status BuildGraphs(index::Index& index, SegmentId id, const GraphOptions& options,
                   const std::atomic<bool>& cancelled) {
  const Status removed = Status::Cancelled("The segment was removed.");
  const std::shared_ptr<const index::Snapshot> snapshot = index.snapshot();
  const index::SegmentView* segment = Find(*snapshot, id);
  if (segment == nullptr) return removed;
  const auto stopped = [&] {
    return cancelled.load(std::memory_order_relaxed) || Find(*index.snapshot(), id) == nullptr;
  };
  index::NewFiles files(index);
  const uint64_t number = index.NextNumber();
  files.Add(number);
  {
    GANNET_ASSIGN_OR_RETURN(auto file, segment::SegmentFileWriter::Create(index.FilePath(number)));
    segment::GraphsWriter graphs(*file);
    for (const segment::EmbedderReader& embedder : segment->vectors->embedders()) {
      if (!WantsGraph(embedder, options.rows_min)) continue;
      const vector::ByteMatrix matrix = segment::MatrixOf(embedder);
      if (matrix.bytes == nullptr)
        return Status::Corruption("the vectors of a segment are damaged");
      GANNET_ASSIGN_OR_RETURN(const auto graph, vector::BuildGraph(matrix, options.parameters,
                                                                   options.threads, stopped));
      GANNET_RETURN_IF_ERROR(graphs.Add(embedder.name(), *graph));
    }
    graphs.Finish();
    GANNET_RETURN_IF_ERROR(file->Finish());
  }
  index::Commit commit;
  commit.graphs.emplace_back(id, number);
  const auto adjust = [&](const index::Snapshot& now, index::Commit&) {
    return Find(now, id) == nullptr ? removed : Status::Ok();
  };
  return index.Apply(std::move(commit), adjust, &files);
}

}  // namespace gannet::indexing
