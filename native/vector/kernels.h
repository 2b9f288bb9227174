// Distances between vectors: the loops in which a vector search spends its time.
//
// Each has variants for newer processors, chosen when the program starts (base/cpu.h); all variants
// return the same bits. Pointers need no alignment.
//
// Threads: all functions are pure.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gannet::vector {

// The maximum number of components of an embedding: sums of products of bytes then fit 32 bits.
inline constexpr uint32_t kDimensionsMax = 65536;

// The sum of a[i] * b[i] over n single-precision numbers, in double precision and in a fixed order
// of additions: eight sums, of every eighth product each, then added pairwise. Products of two
// singles are exact in double precision.
// cost  25 ns for 384 components with AVX-512, 45 ns with AVX2
double Dot(const float* a, const float* b, size_t n);

// Sum of a[i] * b[i]. REQUIRES: n <= kDimensionsMax, all values in [-127, 127]
// cost  8 ns for 384 components with AVX-512, 11 ns with AVX2
int32_t DotInt8(const int8_t* a, const int8_t* b, size_t n);

// The number of bits that differ.
uint32_t HammingDistance(const uint64_t* a, const uint64_t* b, size_t words);

// Rows of a block of signs (signs.h).
inline constexpr size_t kSignRows = 64;
// A query compared with a block of rows of which the signs are stored (signs.h). Its table has,
// for each four components and each combination of their signs, the sum of the components as a
// number of steps of `unit` above the smallest possible: at most 127. `middle` is the number of
// steps of a sum of 0.
struct SignTable {
  const uint8_t* sums;  // 16 for each four components
  size_t bytes;         // of signs, per row
  float unit, middle;
};
// Stores for each row its estimate (sum of steps - middle) * unit * factor, and returns, by bit,
// the rows with an estimate of at least floor - error.
// REQUIRES: table.bytes * 8 <= kDimensionsMax
uint64_t SignsAtLeast(const SignTable& table, const uint8_t* block, float floor, float* estimates);

// The functions above in every variant that this machine can run, the portable one first; for
// tests.
struct KernelVariant {
  const char* name;
  double (*dot)(const float*, const float*, size_t);
  int32_t (*dot_int8)(const int8_t*, const int8_t*, size_t);
  uint32_t (*hamming_distance)(const uint64_t*, const uint64_t*, size_t);
  uint64_t (*signs_at_least)(const SignTable&, const uint8_t*, float, float*);
};
size_t KernelVariants(const KernelVariant*& variants);

}  // namespace gannet::vector
