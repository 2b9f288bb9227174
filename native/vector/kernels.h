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

// The functions above in every variant that this machine can run, the portable one first; for
// tests.
struct KernelVariant {
  const char* name;
  double (*dot)(const float*, const float*, size_t);
  int32_t (*dot_int8)(const int8_t*, const int8_t*, size_t);
  uint32_t (*hamming_distance)(const uint64_t*, const uint64_t*, size_t);
};
size_t KernelVariants(const KernelVariant*& variants);

}  // namespace gannet::vector
