// Graphs over the vectors of a segment, in a file of their own because they are made later than the
// segment (vector/graph.h).
//
// Threads: a reader is shared; the first thread that needs a graph opens it.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "segment/file.h"
#include "segment/vectors.h"
#include "vector/graph.h"

namespace gannet::segment {

// Segments with more rows than this for an embedder get a graph; smaller ones are scanned in a few
// milliseconds.
inline constexpr uint32_t kGraphRowsMin = 100'000;
// If the signs of the rows are stored, this many times as many: signs of two million rows are
// scanned in 10 ms.
inline constexpr uint32_t kSignedTimes = 20;
// For bits a scan is faster than a graph.
inline bool WantsGraph(const EmbedderReader& embedder, uint32_t rows_min = kGraphRowsMin) {
  return !embedder.binary_quantised() &&
         embedder.row_count() > uint64_t{rows_min} * (embedder.has_signs() ? kSignedTimes : 1);
}

// All rows of an embedder in the form that is scanned. Null bytes: damaged, or binary quantised.
vector::ByteMatrix MatrixOf(const EmbedderReader& embedder);

class GraphsReader {
 public:
  // vectors: of the same segment. Corruption: the directory does not fit them.
  static Result<std::shared_ptr<const GraphsReader>> Open(
      std::shared_ptr<SegmentFile> file, std::shared_ptr<const VectorsReader> vectors);

  // The graph of an embedder; null if there is none or it is damaged. The first call reads it,
  // which takes 0.1 s for a million rows that are not in memory.
  const vector::Graph* Find(std::string_view embedder) const;
  // What is stored of it and the vectors that it is over; nullopt if there is none, or its vectors
  // are damaged.
  struct Stored {
    const EmbedderReader* embedder;
    std::span<const uint32_t> rows;
    std::string_view nodes;
  };
  std::optional<Stored> FindStored(std::string_view embedder) const;
  const std::shared_ptr<SegmentFile>& file() const { return file_; }
  // Reads everything. Corruption: the graph of an embedder cannot be used.
  Status Verify() const;

 private:
  struct Entry {
    std::string embedder;
    size_t number;
    std::once_flag once;
    Status status;
    std::unique_ptr<vector::Graph> graph;
  };
  Status OpenGraph(Entry& entry) const;
  std::shared_ptr<SegmentFile> file_;
  std::shared_ptr<const VectorsReader> vectors_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

// Writes graphs one by one.
class GraphsWriter {
 public:
  explicit GraphsWriter(SegmentFileWriter& file) : file_(file) {}
  Status Add(std::string_view embedder, const vector::BuiltGraph& graph);
  void Finish();

 private:
  SegmentFileWriter& file_;
  std::string directory_;
  uint32_t count_ = 0;
};

}  // namespace gannet::segment
