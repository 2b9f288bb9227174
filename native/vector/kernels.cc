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

// Bytes of signs whose sums fit 16 bits.
constexpr size_t kBytesPerSum = 256;

// The processor does not read ahead across pages. Blocks mostly follow each other, so a variant
// prefetches the block after the next one: this halves the time of blocks that are in no cache.
constexpr size_t SignsAhead(const SignTable& table) {
  return 2 * kSignRows * (table.bytes + 2 * sizeof(float));
}

// No product is added to anything, so fused multiplication changes no bits.
uint64_t SignsPortable(const SignTable& table, const uint8_t* block, float floor,
                       float* estimates) {
  const float* factors = reinterpret_cast<const float*>(block + table.bytes * kSignRows);
  uint32_t sums[kSignRows] = {};
  for (size_t b = 0; b < table.bytes; ++b) {
    const uint8_t *bytes = block + b * kSignRows, *steps = table.sums + b * 32;
    for (size_t row = 0; row < kSignRows; ++row) {
      const uint8_t signs = bytes[row % 32 * 2 + row / 32];
      sums[row] += uint32_t{steps[signs & 15]} + steps[16 + (signs >> 4)];
    }
  }
  uint64_t passed = 0;
  for (size_t row = 0; row < kSignRows; ++row) {
    estimates[row] = (static_cast<float>(sums[row]) - table.middle) * table.unit * factors[row];
    passed |= uint64_t{estimates[row] >= floor - factors[kSignRows + row]} << row;
  }
  return passed;
}

#if defined(__x86_64__)

// Looks up the sums of 32 rows at a time; those of even bytes, and of odd ones, are added in 16
// bits.
__attribute__((target("avx2"))) uint64_t SignsAvx2(const SignTable& table, const uint8_t* block,
                                                   float floor, float* estimates) {
  const float* factors = reinterpret_cast<const float*>(block + table.bytes * kSignRows);
  const __m256i low = _mm256_set1_epi8(15);
  // Rows 0 to 15, 16 to 31, 32 to 47, 48 to 63, eight at a time.
  __m256i sums[8];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  for (size_t begin = 0; begin < table.bytes; begin += kBytesPerSum) {
    __m256i all[2], odd[2];
    for (size_t h = 0; h < 2; ++h) all[h] = odd[h] = _mm256_setzero_si256();
    for (size_t b = begin; b < std::min(table.bytes, begin + kBytesPerSum); ++b) {
      const auto* steps = reinterpret_cast<const __m128i*>(table.sums + b * 32);
      const __m256i first = _mm256_broadcastsi128_si256(_mm_loadu_si128(steps)),
                    second = _mm256_broadcastsi128_si256(_mm_loadu_si128(steps + 1));
      const auto* bytes = reinterpret_cast<const __m256i*>(block + b * kSignRows);
      __builtin_prefetch(block + b * kSignRows + SignsAhead(table));
      for (size_t h = 0; h < 2; ++h) {
        const __m256i signs = _mm256_loadu_si256(bytes + h);
        const __m256i both = _mm256_add_epi8(
            _mm256_shuffle_epi8(first, _mm256_and_si256(signs, low)),
            _mm256_shuffle_epi8(second, _mm256_and_si256(_mm256_srli_epi16(signs, 4), low)));
        all[h] = _mm256_add_epi16(all[h], both);
        odd[h] = _mm256_add_epi16(odd[h], _mm256_srli_epi16(both, 8));
      }
    }
    for (size_t h = 0; h < 2; ++h) {
      const __m256i even = _mm256_sub_epi16(all[h], _mm256_slli_epi16(odd[h], 8));
      const __m256i parts[2] = {even, odd[h]};
      for (size_t p = 0; p < 2; ++p) {
        __m256i* to = sums + 4 * p + 2 * h;
        to[0] = _mm256_add_epi32(to[0], _mm256_cvtepu16_epi32(_mm256_castsi256_si128(parts[p])));
        to[1] =
            _mm256_add_epi32(to[1], _mm256_cvtepu16_epi32(_mm256_extracti128_si256(parts[p], 1)));
      }
    }
  }
  uint64_t passed = 0;
  for (size_t i = 0; i < 8; ++i) {
    const __m256 steps = _mm256_sub_ps(_mm256_cvtepi32_ps(sums[i]), _mm256_set1_ps(table.middle));
    const __m256 estimate = _mm256_mul_ps(_mm256_mul_ps(steps, _mm256_set1_ps(table.unit)),
                                          _mm256_loadu_ps(factors + 8 * i));
    _mm256_storeu_ps(estimates + 8 * i, estimate);
    const __m256 bound =
        _mm256_sub_ps(_mm256_set1_ps(floor), _mm256_loadu_ps(factors + kSignRows + 8 * i));
    const int mask = _mm256_movemask_ps(_mm256_cmp_ps(estimate, bound, _CMP_GE_OQ));
    passed |= static_cast<uint64_t>(static_cast<uint32_t>(mask)) << (8 * i);
  }
  return passed;
}

__attribute__((target("avx512f,avx512bw"))) uint64_t SignsAvx512(const SignTable& table,
                                                                 const uint8_t* block, float floor,
                                                                 float* estimates) {
  const float* factors = reinterpret_cast<const float*>(block + table.bytes * kSignRows);
  const __m512i low = _mm512_set1_epi8(15);
  __m512i sums[4];  // 16 rows each
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
  for (size_t begin = 0; begin < table.bytes; begin += kBytesPerSum) {
    __m512i all = _mm512_setzero_si512(), odd = _mm512_setzero_si512();
    for (size_t b = begin; b < std::min(table.bytes, begin + kBytesPerSum); ++b) {
      const auto* steps = reinterpret_cast<const __m128i*>(table.sums + b * 32);
      const __m512i first = _mm512_maskz_broadcast_i32x4(0xffff, _mm_loadu_si128(steps)),
                    second = _mm512_maskz_broadcast_i32x4(0xffff, _mm_loadu_si128(steps + 1));
      const __m512i signs = _mm512_loadu_si512(block + b * kSignRows);
      __builtin_prefetch(block + b * kSignRows + SignsAhead(table));
      const __m512i both = _mm512_add_epi8(
          _mm512_shuffle_epi8(first, _mm512_and_si512(signs, low)),
          _mm512_shuffle_epi8(second, _mm512_and_si512(_mm512_srli_epi16(signs, 4), low)));
      all = _mm512_add_epi16(all, both);
      odd = _mm512_add_epi16(odd, _mm512_srli_epi16(both, 8));
    }
    const __m512i even = _mm512_sub_epi16(all, _mm512_slli_epi16(odd, 8));
    sums[0] = _mm512_add_epi32(sums[0], _mm512_cvtepu16_epi32(_mm512_castsi512_si256(even)));
    sums[1] = _mm512_add_epi32(sums[1], _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(even, 1)));
    sums[2] = _mm512_add_epi32(sums[2], _mm512_cvtepu16_epi32(_mm512_castsi512_si256(odd)));
    sums[3] = _mm512_add_epi32(sums[3], _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64(odd, 1)));
  }
  uint64_t passed = 0;
  for (size_t i = 0; i < 4; ++i) {
    const __m512 steps = _mm512_sub_ps(_mm512_cvtepi32_ps(sums[i]), _mm512_set1_ps(table.middle));
    const __m512 estimate = _mm512_mul_ps(_mm512_mul_ps(steps, _mm512_set1_ps(table.unit)),
                                          _mm512_loadu_ps(factors + 16 * i));
    _mm512_storeu_ps(estimates + 16 * i, estimate);
    const __m512 bound =
        _mm512_sub_ps(_mm512_set1_ps(floor), _mm512_loadu_ps(factors + kSignRows + 16 * i));
    passed |= static_cast<uint64_t>(_mm512_cmp_ps_mask(estimate, bound, _CMP_GE_OQ)) << (16 * i);
  }
  return passed;
}

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

constexpr KernelVariant kVariants[] = {
    {"portable", DotPortable, DotInt8Portable, HammingPortable, SignsPortable},
    {"avx2", DotAvx2, DotInt8Avx2, HammingPopcnt, SignsAvx2},
    {"avx512", DotAvx512, DotInt8Vnni, HammingAvx512, SignsAvx512}};
#else
constexpr KernelVariant kVariants[] = {
    {"portable", DotPortable, DotInt8Portable, HammingPortable, SignsPortable}};
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
uint64_t SignsAtLeast(const SignTable& table, const uint8_t* block, float floor, float* estimates) {
  return Chosen().signs_at_least(table, block, floor, estimates);
}

size_t KernelVariants(const KernelVariant*& variants) {
  variants = kVariants;
  return std::min(static_cast<size_t>(Cpu()) + 1, std::size(kVariants));
}

}  // namespace gannet::vector
