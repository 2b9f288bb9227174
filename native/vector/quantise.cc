#include "vector/quantise.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "vector/kernels.h"

namespace gannet::vector {

ByteScale QuantiseToBytes(const float* v, size_t n, int8_t* out) {
  float greatest = 0;
  for (size_t i = 0; i < n; ++i) greatest = std::max(greatest, std::abs(v[i]));
  if (!(greatest > 0)) {
    std::memset(out, 0, n);
    return {0, 0};
  }
  const double norm = std::sqrt(Dot(v, v, n));
  // Rounded up, so that no byte is beyond 127.
  const float scale =
      std::nextafter(static_cast<float>(static_cast<double>(greatest) / norm / 127), 1.0f);
  const double unit = 1 / norm, bytes = unit / static_cast<double>(scale);
  double error = 0;
  for (size_t i = 0; i < n; ++i) {
    const auto q =
        static_cast<int32_t>(static_cast<double>(v[i]) * bytes + (v[i] < 0 ? -0.5 : 0.5));
    out[i] = static_cast<int8_t>(q);
    const double off = static_cast<double>(v[i]) * unit - static_cast<double>(scale) * q;
    error += off * off;
  }
  // The added constant is far above any rounding error in double precision.
  return {scale, std::nextafter(static_cast<float>(std::sqrt(error) + 1e-9), 1.0f)};
}

void QuantiseToBits(const float* v, size_t n, uint64_t* out) {
  std::fill_n(out, BitWords(n), 0);
  for (size_t i = 0; i < n; ++i) out[i / 64] |= static_cast<uint64_t>(v[i] > 0) << (i % 64);
}

void ExpandBits(const uint64_t* bits, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) out[i] = (bits[i / 64] >> (i % 64) & 1) != 0 ? 1.0f : 0.0f;
}

}  // namespace gannet::vector
