// A graph over the rows of a matrix, for finding the nearest ones without looking at all: HNSW
// (Malkov & Yashunin, "Efficient and robust approximate nearest neighbor search using hierarchical
// navigable small world graphs", 2016), by usearch. It holds links alone; the rows stay where they
// are.
//
// Threads: a graph is immutable and shared.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "vector/quantise.h"

namespace gannet::vector {

// Rows as bytes. Borrowed.
struct ByteMatrix {
  const int8_t* bytes = nullptr;      // `dimensions` per row
  const ByteScale* scales = nullptr;  // by row
  uint32_t rows = 0, dimensions = 0;
};

struct GraphParameters {
  uint32_t connectivity = 16;  // links of a row on the upper levels; twice as many on the lowest
  uint32_t expansion = 128;    // candidates while a row is linked
};

// A graph in memory, before it is stored.
class BuiltGraph {
 public:
  virtual ~BuiltGraph() = default;
  // By node: its row.
  virtual std::span<const uint32_t> rows() const = 0;
  // Hands the nodes as bytes to the sink, piece by piece.
  virtual Status Write(const std::function<void(std::string_view)>& sink) const = 0;
};

// Links all rows, with `threads` threads, the calling one among them; they take over its priority.
// stopped: asked again and again, from any of them. Cancelled: it said yes. Internal: memory has
// run out. Memory: about 40 bytes and 10 for each unit of connectivity, per row. cost  1 ms per row
// and thread with the default parameters and 384 dimensions at a million rows
Result<std::unique_ptr<BuiltGraph>> BuildGraph(const ByteMatrix& matrix,
                                               const GraphParameters& parameters, uint32_t threads,
                                               const std::function<bool()>& stopped);

class Graph {
 public:
  virtual ~Graph() = default;
  // rows, nodes: as they were stored; borrowed. Their checksums have been verified. Corruption:
  // they do not fit the matrix. Memory: 16 bytes per row.
  static Result<std::unique_ptr<Graph>> Open(std::span<const uint32_t> rows, std::string_view nodes,
                                             const ByteMatrix& matrix);

  struct Neighbour {
    uint32_t row;
    float distance;  // 1 less the cosine, as far as bytes tell
  };
  // The rows next to a query of `dimensions` numbers among those that `accepts` (null: all),
  // nearest first: all without length, and up to `expansion` others. accepts: throws nothing. More
  // expansion finds more of those really next. With a filter few rows pass a scan of these is
  // faster.
  // Internal: memory has run out.
  virtual Result<std::vector<Neighbour>> Search(
      const float* query, uint32_t expansion,
      const std::function<bool(uint32_t row)>& accepts) const = 0;
};

}  // namespace gannet::vector
