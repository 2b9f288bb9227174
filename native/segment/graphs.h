// Graphs over the vectors of a segment, in a file of their own because they are made later than the
// segment (vector/graph.h).
//
// Threads: a reader is shared; the first thread that needs a graph opens it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "segment/file.h"
#include "segment/vectors.h"
#include "vector/graph.h"

namespace gannet::segment {

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
