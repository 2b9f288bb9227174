#include "indexing/graphs.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace gannet::indexing {
namespace {

const index::SegmentView* Find(const index::Snapshot& snapshot, SegmentId id) {
  const auto found = std::find_if(snapshot.segments.begin(), snapshot.segments.end(),
                                  [&](const auto& segment) { return segment->files.id == id; });
  return found == snapshot.segments.end() ? nullptr : found->get();
}

// By row of an earlier segment: the row of a segment that has the same vector of the same document,
// or kNoRow.
std::vector<uint32_t> NewRows(const segment::EmbedderReader& earlier,
                              const segment::EmbedderReader& now,
                              const std::function<bool()>& stopped) {
  std::vector<uint32_t> rows(earlier.row_count(), vector::kNoRow);
  const vector::ByteMatrix before = segment::MatrixOf(earlier), after = segment::MatrixOf(now);
  const uint32_t n = now.dimensions();
  if (before.bytes == nullptr || after.bytes == nullptr || earlier.dimensions() != n) return {};
  for (size_t local = 0; local < earlier.docids().size(); ++local) {
    if (local % 65'536 == 0 && stopped()) return {};
    const auto from = earlier.rows_of(local), to = now.FindRows(earlier.docids()[local]);
    for (uint32_t i = 0; i < std::min(from.end - from.begin, to.end - to.begin); ++i) {
      const uint32_t a = from.begin + i, b = to.begin + i;
      if (before.scales[a].scale == after.scales[b].scale &&
          std::memcmp(before.bytes + size_t{a} * n, after.bytes + size_t{b} * n, n) == 0)
        rows[a] = b;
    }
  }
  return rows;
}

Result<std::unique_ptr<vector::BuiltGraph>> BuildGraph(const index::SegmentView& segment,
                                                       const segment::EmbedderReader& embedder,
                                                       const GraphOptions& options,
                                                       const std::function<bool()>& stopped) {
  const vector::ByteMatrix matrix = segment::MatrixOf(embedder);
  if (matrix.bytes == nullptr) return Status::Corruption("the vectors of a segment are damaged");
  if (segment.earlier_graphs != nullptr) {
    if (const auto stored = segment.earlier_graphs->FindStored(embedder.name())) {
      const std::vector<uint32_t> rows = NewRows(*stored->embedder, embedder, stopped);
      const vector::EarlierGraph earlier{stored->rows, stored->nodes, rows};
      return vector::BuildGraph(matrix, options.parameters, options.threads, stopped, &earlier);
    }
  }
  return vector::BuildGraph(matrix, options.parameters, options.threads, stopped);
}

}  // namespace

std::optional<SegmentId> PlanGraphs(const index::Snapshot& snapshot, uint32_t rows_min) {
  std::optional<SegmentId> best;
  uint32_t best_rows = 0;
  for (const auto& segment : snapshot.segments) {
    if (segment->graphs != nullptr) continue;
    for (const segment::EmbedderReader& embedder : segment->vectors->embedders()) {
      if (!segment::WantsGraph(embedder, rows_min) || embedder.row_count() <= best_rows) continue;
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
      if (!segment::WantsGraph(embedder, options.rows_min)) continue;
      GANNET_ASSIGN_OR_RETURN(const auto graph, BuildGraph(*segment, embedder, options, stopped));
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
