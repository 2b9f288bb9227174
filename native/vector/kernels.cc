#include "vector/kernels.h"

#include <algorithm>
#include <iterator>

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gannet::vector {
namespace {

constexpr size_t kSums = 8;

double AddPairwise(const double (&sums)[kSums]) {
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// Adds the products from index `at` to `n`: fewer than kSums, or all of them.
void AddProducts(const float* a, const float* b, size_t at, size_t n, double (&sums)[kSums]) {
  for (; at < n; ++at) sums[at % kSums] += static_cast<double>(a[at]) * static_cast<double>(b[at]);
}

double DotPortable(const float* a, const float* b, size_t n) {
  double sums[kSums] = {};
  AddProducts(a, b, 0, n, sums);
  return AddPairwise(sums);
}

int32_t DotInt8Portable(const int8_t* a, const int8_t* b, size_t n) {
  int32_t sum = 0;
  for (size_t i = 0; i < n; ++i) sum += int32_t{a[i]} * int32_t{b[i]};
  return sum;
}

uint32_t HammingPortable(const uint64_t* a, const uint64_t* b, size_t words) {
  uint32_t count = 0;
  for (size_t i = 0; i < words; ++i)
    count += static_cast<uint32_t>(__builtin_popcountll(a[i] ^ b[i]));
  return count;
}

#if defined(__x86_64__)

// Without fused multiplication: the product is exact either way, so the sums equal those of the
// portable loop.
__attribute__((target("avx2"))) double DotAvx2(const float* a, const float* b, size_t n) {
  __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
  size_t at = 0;
  for (; at + kSums <= n; at += kSums) {
    low = _mm256_add_pd(low, _mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(a + at)),
                                           _mm256_cvtps_pd(_mm_loadu_ps(b + at))));
    high = _mm256_add_pd(high, _mm256_mul_pd(_mm256_cvtps_pd(_mm_loadu_ps(a + at + 4)),
                                             _mm256_cvtps_pd(_mm_loadu_ps(b + at + 4))));
  }
  double sums[kSums];
  _mm256_storeu_pd(sums, low);
  _mm256_storeu_pd(sums + 4, high);
  AddProducts(a, b, at, n, sums);
  return AddPairwise(sums);
}

__attribute__((target("avx512f"))) double DotAvx512(const float* a, const float* b, size_t n) {
  __m512d all = _mm512_setzero_pd();
  size_t at = 0;
  for (; at + kSums <= n; at += kSums) {
    all = _mm512_fmadd_pd(_mm512_cvtps_pd(_mm256_loadu_ps(a + at)),
                          _mm512_cvtps_pd(_mm256_loadu_ps(b + at)), all);
  }
  double sums[kSums];
  _mm512_storeu_pd(sums, all);
  AddProducts(a, b, at, n, sums);
  return AddPairwise(sums);
}

// The first operand of maddubs is unsigned: the sign of a is moved to b. Sums of two products stay
// below 2^15.
__attribute__((target("avx2"))) int32_t DotInt8Avx2(const int8_t* a, const int8_t* b, size_t n) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sum = _mm256_setzero_si256();
  size_t at = 0;
  for (; at + 32 <= n; at += 32) {
    const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + at));
    const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + at));
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(x), _mm256_sign_epi8(y, x));
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
  }
  const __m128i half = _mm_add_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
  const __m128i quarter = _mm_add_epi32(half, _mm_shuffle_epi32(half, 0x4e));
  const __m128i last = _mm_add_epi32(quarter, _mm_shuffle_epi32(quarter, 0xb1));
  return _mm_cvtsi128_si32(last) + DotInt8Portable(a + at, b + at, n - at);
}

// The first operand of dpbusd is unsigned: a + 128. The surplus, 128 times the sum of b, is
// subtracted again.
__attribute__((target("avx512f,avx512bw,avx512vnni"))) int32_t DotInt8Vnni(const int8_t* a,
                                                                           const int8_t* b,
                                                                           size_t n) {
  const __m512i offset = _mm512_set1_epi8(static_cast<char>(0x80));
  __m512i sum = _mm512_setzero_si512(), too_much = _mm512_setzero_si512();
  size_t at = 0;
  for (; at + 64 <= n; at += 64) {
    const __m512i y = _mm512_loadu_si512(b + at);
    sum = _mm512_dpbusd_epi32(sum, _mm512_xor_si512(_mm512_loadu_si512(a + at), offset), y);
    too_much = _mm512_dpbusd_epi32(too_much, offset, y);
  }
  if (at < n) {
    const __mmask64 rest = ~uint64_t{0} >> (64 - (n - at));
    const __m512i y = _mm512_maskz_loadu_epi8(rest, b + at);
    sum = _mm512_dpbusd_epi32(sum, _mm512_xor_si512(_mm512_maskz_loadu_epi8(rest, a + at), offset),
                              y);
    too_much = _mm512_dpbusd_epi32(too_much, offset, y);
  }
  return _mm512_reduce_add_epi32(_mm512_sub_epi32(sum, too_much));
}

__attribute__((target("popcnt"))) uint32_t HammingPopcnt(const uint64_t* a, const uint64_t* b,
                                                         size_t words) {
  uint64_t count = 0;
  for (size_t i = 0; i < words; ++i)
    count += static_cast<uint64_t>(__builtin_popcountll(a[i] ^ b[i]));
  return static_cast<uint32_t>(count);
}

__attribute__((target("avx512f,avx512vpopcntdq"))) uint32_t HammingAvx512(const uint64_t* a,
                                                                          const uint64_t* b,
                                                                          size_t words) {
  __m512i sum = _mm512_setzero_si512();
  size_t at = 0;
  for (; at + 8 <= words; at += 8) {
    sum = _mm512_add_epi64(sum, _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_loadu_si512(a + at),
                                                                     _mm512_loadu_si512(b + at))));
  }
  if (at < words) {
    const auto rest = static_cast<__mmask8>(0xff >> (8 - (words - at)));
    sum = _mm512_add_epi64(
        sum, _mm512_popcnt_epi64(_mm512_xor_si512(_mm512_maskz_loadu_epi64(rest, a + at),
                                                  _mm512_maskz_loadu_epi64(rest, b + at))));
  }
  return static_cast<uint32_t>(_mm512_reduce_add_epi64(sum));
}

constexpr KernelVariant kVariants[] = {{"portable", DotPortable, DotInt8Portable, HammingPortable},
                                       {"avx2", DotAvx2, DotInt8Avx2, HammingPopcnt},
                                       {"avx512", DotAvx512, DotInt8Vnni, HammingAvx512}};
#else
constexpr KernelVariant kVariants[] = {{"portable", DotPortable, DotInt8Portable, HammingPortable}};
#endif

const KernelVariant& Chosen() {
  static const KernelVariant& chosen =
      kVariants[std::min(static_cast<size_t>(Cpu()), std::size(kVariants) - 1)];
  return chosen;
}

}  // namespace

double Dot(const float* a, const float* b, size_t n) { return Chosen().dot(a, b, n); }
int32_t DotInt8(const int8_t* a, const int8_t* b, size_t n) { return Chosen().dot_int8(a, b, n); }
uint32_t HammingDistance(const uint64_t* a, const uint64_t* b, size_t words) {
  return Chosen().hamming_distance(a, b, words);
}

size_t KernelVariants(const KernelVariant*& variants) {
  variants = kVariants;
  return std::min(static_cast<size_t>(Cpu()) + 1, std::size(kVariants));
}

}  // namespace gannet::vector
