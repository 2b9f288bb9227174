// Vectors in fewer bits: one byte per component with an error bound, or one bit.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gannet::vector {

// The scale of a vector v as bytes q: its unit vector v / |v| is scale * q, but for a difference
// whose length (root of the sum of squares) is at most `error`. For the zero vector both are 0.
//
// So for two vectors with bytes p, q the cosine is within
//   error_p + error_q * (1 + error_p)
// of scale_p * scale_q * (p . q): with u = s q + e and w = t p + f,
//   u.w = s t (q.p) + s q.f + e.w,
// and |s q| <= 1 + |e|.
struct ByteScale {
  float scale, error;
};

// out: n bytes in [-127, 127].
ByteScale QuantiseToBytes(const float* v, size_t n, int8_t* out);

// An upper bound of the difference between the cosine and its value computed from bytes; see
// ByteScale.
inline double CosineError(ByteScale a, ByteScale b) {
  return static_cast<double>(a.error) +
         static_cast<double>(b.error) * (1 + static_cast<double>(a.error)) + 1e-9;
}

constexpr size_t BitWords(size_t n) { return (n + 63) / 64; }
// Bit i of word i / 64: whether v[i] > 0. out: BitWords(n) words; bits beyond n are 0.
void QuantiseToBits(const float* v, size_t n, uint64_t* out);
// The inverse: 1 for a set bit, else 0.
void ExpandBits(const uint64_t* bits, size_t n, float* out);

}  // namespace gannet::vector
