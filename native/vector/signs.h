// Vectors as one bit per component: the first pass over many rows.
//
// RaBitQ (Gao & Long, "RaBitQ: Quantizing High-Dimensional Vectors with a Theoretical Error Bound
// for Approximate Nearest Neighbor Search", 2024): a row is divided by its length and rotated at
// random, and only the signs of its components are kept, with the cosine between the row and its
// signs. The product of a query with the signs, divided by that cosine, estimates the cosine of
// query and row. The estimate has no bias, and its standard deviation is known: that of a random
// direction, sqrt((1 - c * c) / (n - 1)) / c for a cosine c and n components.
//
// Bytes: blocks of 64 rows: for every eight components a byte of each row, lowest bit first, 1
// where the rotated component is above 0 (row r at r % 32 * 2 + r / 32); f32 factor by row; f32
// error by row. The last block is filled with zeros and errors of -8.
//
// Threads: everything is immutable once made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vector/kernels.h"

namespace gannet::vector {

// Rows are stored in blocks of kSignRows: byte b of all rows of a block, for each b; then for each
// row a factor f32, then for each row an error f32. Row r of a block has byte r % 32 * 2 + r / 32
// of each run of bytes. The block that is not full ends with rows that are near to nothing.

// An error is this many standard deviations. One row in 4,300 is nearer than its estimate and its
// error say.
inline constexpr double kSignDeviations = 3.5;

constexpr size_t SignBytes(size_t n) { return (n + 7) / 8; }
constexpr size_t SignBlockBytes(size_t n) { return kSignRows * (SignBytes(n) + 2 * sizeof(float)); }
constexpr size_t SignBlocks(size_t rows) { return (rows + kSignRows - 1) / kSignRows; }

// The error of row i of a block.
inline float SignError(const uint8_t* block, size_t n, size_t i) {
  return reinterpret_cast<const float*>(block + kSignRows * SignBytes(n))[kSignRows + i];
}

// An orthogonal transform that is the same for all vectors of n components: signs at random, then
// a Hadamard transform of the first components, then signs and one of the last, twice. What is
// stored depends on it.
class Rotation {
 public:
  explicit Rotation(size_t n);
  void Apply(float* v) const;
  size_t size() const { return n_; }

 private:
  static constexpr size_t kRounds = 4;
  size_t n_, transformed_;
  std::vector<float> signs_[kRounds];
};

// Makes blocks of rows.
class SignEncoder {
 public:
  explicit SignEncoder(size_t n) : rotation_(n), row_(n), block_(SignBlockBytes(n)) { Clear(); }
  // REQUIRES: the block is not full.
  void Add(const float* v);
  size_t rows() const { return rows_; }
  std::span<const uint8_t> block() const { return block_; }
  void Clear();

 private:
  Rotation rotation_;
  std::vector<float> row_;
  std::vector<uint8_t> block_;
  size_t rows_ = 0;
};

// A query that is compared with blocks.
class SignQuery {
 public:
  explicit SignQuery(std::span<const float> v);
  // The rows of a block, by bit, whose cosine with the query may be at least `floor`. Rows without
  // length always may.
  // estimates  kSignRows cosines
  // cost       2.5 ns per row of 384 components with AVX-512
  uint64_t AtLeast(const uint8_t* block, float floor, float* estimates) const;

 private:
  size_t bytes_;
  std::vector<uint8_t> table_;  // see kernels.h
  float unit_ = 0, middle_ = 0;
};

}  // namespace gannet::vector
