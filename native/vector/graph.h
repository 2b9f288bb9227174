// A graph over the rows of a matrix, for finding the nearest rows without comparing all: HNSW
// (Malkov & Yashunin, "Efficient and robust approximate nearest neighbor search using hierarchical
// navigable small world graphs", 2016), by usearch. It holds only links; the rows stay where they
// are.
//
// Bytes, as usearch 2.26 serialises the class index_gt<float, u32, u32>: u64 size, connectivity,
// connectivity of the lowest level, greatest level, entry node; i16 level by node; then by node
// u32 key (its row), i16 level, per level u32 number of links and space for as many as the
// connectivity allows, u32 each.
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

// The rows of a matrix as bytes. Borrowed.
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
  // The row of each node.
  virtual std::span<const uint32_t> rows() const = 0;
  // The number of nodes kept from an earlier graph.
  virtual uint32_t kept() const = 0;
  // Passes the bytes of the nodes to the sink, piece by piece.
  virtual Status Write(const std::function<void(std::string_view)>& sink) const = 0;
};

// A stored graph over other rows, from which a new one can start. Borrowed.
struct EarlierGraph {
  std::span<const uint32_t> rows;  // by node
  std::string_view nodes;
  std::span<const uint32_t> new_rows;  // by row: the same vector's row in the new matrix, or kNoRow
};
inline constexpr uint32_t kNoRow = UINT32_MAX;

// Links all rows with `threads` threads, including the calling one; the others take over its
// priority.
// earlier  If set, and at least 80 % of its nodes have a new row, its links are kept: nodes without
//          a row are replaced in the links of others by their own nearest neighbours, and only rows
//          without a node are linked. Damaged: not used.
// stopped  called repeatedly, from any of the threads; true stops the work
// errors   Cancelled: `stopped` returned true. Internal: memory has run out.
// memory   per row about 40 bytes, and 10 for each unit of connectivity; at first twice as much for
//          nodes of an earlier graph
// cost     1 ms per row and thread with the default parameters and 384 dimensions at a million rows
Result<std::unique_ptr<BuiltGraph>> BuildGraph(const ByteMatrix& matrix,
                                               const GraphParameters& parameters, uint32_t threads,
                                               const std::function<bool()>& stopped,
                                               const EarlierGraph* earlier = nullptr);

class Graph {
 public:
  virtual ~Graph() = default;
  // Opens a stored graph.
  // rows, nodes  as stored; borrowed. Their checksums have been verified.
  // errors       Corruption: they do not fit the matrix.
  // memory       16 bytes per row
  static Result<std::unique_ptr<Graph>> Open(std::span<const uint32_t> rows, std::string_view nodes,
                                             const ByteMatrix& matrix);

  struct Neighbour {
    uint32_t row;
    float distance;  // 1 less the cosine, computed from bytes
  };
  // The rows nearest to a query of `dimensions` numbers among those that `accepts` (null: all),
  // nearest first: all rows without length, and at most `expansion` others. More expansion finds
  // more of the truly nearest. If a filter passes few rows, scanning those is faster.
  // accepts  throws nothing
  // errors   Internal: memory has run out.
  virtual Result<std::vector<Neighbour>> Search(
      const float* query, uint32_t expansion,
      const std::function<bool(uint32_t row)>& accepts) const = 0;
};

}  // namespace gannet::vector
