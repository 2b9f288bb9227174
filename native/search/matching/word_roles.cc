#include "search/matching/word_roles.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"
#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gannet::search {
namespace {

uint64_t MatchPortable(const OrdinalSet& set, const char* data, uint64_t bit, uint32_t count,
                       uint32_t width, Ordinal* ordinals) {
  const uint64_t mask = (uint64_t{1} << width) - 1;
  uint64_t found = 0;
  for (uint32_t i = 0; i < count; ++i, bit += width) {
    ordinals[i] = static_cast<Ordinal>(LoadFixed<uint64_t>(data + (bit >> 3)) >> (bit & 7) & mask);
    found |= uint64_t{set.Has(ordinals[i])} << i;
  }
  return found;
}

#if defined(__x86_64__)

// Widths up to 25 bits: a value is within 4 bytes, whatever its first bit. A value that follows 8
// or 16 values later starts at the same bit of its byte, so a whole record is unpacked in the same
// way.
constexpr uint32_t kWidthMax = 25;
constexpr uint32_t kValues = 16;

struct Unpacking {
  // By first bit within a byte and width: which bytes each value needs, relative to the first
  // value's first byte, and how far to shift them.
  alignas(64) std::array<std::array<std::array<uint8_t, 4 * kValues>, kWidthMax + 1>, 8> bytes;
  alignas(64) std::array<std::array<std::array<uint32_t, kValues>, kWidthMax + 1>, 8> shift;
};

constexpr Unpacking MakeUnpacking() {
  Unpacking tables{};
  for (uint32_t first = 0; first < 8; ++first) {
    for (uint32_t width = 1; width <= kWidthMax; ++width) {
      for (uint32_t value = 0; value < kValues; ++value) {
        const uint32_t at = first + value * width;
        tables.shift[first][width][value] = at & 7;
        for (uint32_t byte = 0; byte < 4; ++byte) {
          tables.bytes[first][width][value * 4 + byte] = static_cast<uint8_t>((at >> 3) + byte);
        }
      }
    }
  }
  return tables;
}

constexpr Unpacking kUnpacking = MakeUnpacking();

constexpr uint64_t LowBits(uint32_t count) {
  return count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
}

// Eight values in two groups of four, each in 16 bytes.
struct Eight {
  __m128i low_bytes, high_bytes;
  __m256i shift, mask;
  uint32_t high_at;  // bytes between the groups
};

__attribute__((target("avx2"))) inline Eight EightFrom(uint64_t bit, uint32_t width) {
  const auto a = static_cast<uint32_t>(bit & 7), b = a + 4 * width;
  const auto load = [](const auto& row) {
    return _mm_load_si128(reinterpret_cast<const __m128i*>(row.data()));
  };
  return {load(kUnpacking.bytes[a][width]), load(kUnpacking.bytes[b & 7][width]),
          _mm256_set_m128i(load(kUnpacking.shift[b & 7][width]), load(kUnpacking.shift[a][width])),
          _mm256_set1_epi32(static_cast<int>(LowBits(width))), b >> 3};
}

__attribute__((target("avx2"))) inline __m256i Unpack(const Eight& eight, const char* at) {
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + eight.high_at));
  const __m256i bytes = _mm256_set_m128i(_mm_shuffle_epi8(high, eight.high_bytes),
                                         _mm_shuffle_epi8(low, eight.low_bytes));
  return _mm256_and_si256(_mm256_srlv_epi32(bytes, eight.shift), eight.mask);
}

__attribute__((target("avx2"))) uint64_t MatchRangesAvx2(const OrdinalSet& set, const char* data,
                                                         uint64_t bit, uint32_t count,
                                                         uint32_t width, Ordinal* ordinals) {
  uint64_t found = 0;
  const size_t ranges = set.ranges.size();
  __m256i before[OrdinalSet::kRangesMax], end[OrdinalSet::kRangesMax];
  for (size_t r = 0; r < ranges; ++r) {
    before[r] = _mm256_set1_epi32(static_cast<int>(set.ranges[r].first) - 1);
    end[r] = _mm256_set1_epi32(static_cast<int>(set.ranges[r].second));
  }
  const Eight eight = EightFrom(bit, width);
  const char* at = data + (bit >> 3);
  for (uint32_t i = 0; i < count; i += 8, at += width) {
    const __m256i values = Unpack(eight, at);
    __m256i in = _mm256_setzero_si256();
    for (size_t r = 0; r < ranges; ++r) {
      in = _mm256_or_si256(in, _mm256_and_si256(_mm256_cmpgt_epi32(values, before[r]),
                                                _mm256_cmpgt_epi32(end[r], values)));
    }
    const auto mask = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(in)));
    if (mask != 0) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(ordinals + i), values);
      found |= uint64_t{mask} << i;
    }
  }
  return found & LowBits(count);
}

__attribute__((target("avx2"))) uint64_t MatchBitsAvx2(const OrdinalSet& set, const char* data,
                                                       uint64_t bit, uint32_t count, uint32_t width,
                                                       Ordinal* ordinals) {
  uint64_t found = 0;
  const int* bits = reinterpret_cast<const int*>(set.bits.data());
  const __m256i last = _mm256_set1_epi32(static_cast<int>(set.bits.size()) - 1);
  const Eight eight = EightFrom(bit, width);
  const char* at = data + (bit >> 3);
  for (uint32_t i = 0; i < count; i += 8, at += width) {
    const __m256i values = Unpack(eight, at);
    // Bits after the last packed value may be anything, so keep the index inside the table.
    const __m256i index = _mm256_min_epu32(_mm256_srli_epi32(values, 5), last);
    const __m256i words = _mm256_i32gather_epi32(bits, index, 4);
    const __m256i shifted = _mm256_sllv_epi32(
        words,
        _mm256_sub_epi32(_mm256_set1_epi32(31), _mm256_and_si256(values, _mm256_set1_epi32(31))));
    const auto mask = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(shifted)));
    if (mask != 0) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(ordinals + i), values);
      found |= uint64_t{mask} << i;
    }
  }
  return found & LowBits(count);
}

// N: number of ranges, so that they stay in registers.
template <size_t N>
__attribute__((target("avx2"))) void MatchRolesAvx2(const RoleRange* ranges,
                                                    const segment::PackedOrdinals& words,
                                                    uint64_t* masks, size_t stride) {
  __m256i before[N], end[N];
  for (size_t r = 0; r < N; ++r) {
    before[r] = _mm256_set1_epi32(static_cast<int>(ranges[r].begin) - 1);
    end[r] = _mm256_set1_epi32(static_cast<int>(ranges[r].end));
  }
  const Eight eight = EightFrom(0, words.width);
  const char* at = words.data;
  for (uint32_t block = 0; block * 64 < words.count; ++block) {
    const uint32_t count = std::min<uint32_t>(64, words.count - block * 64);
    uint64_t found[N] = {};
    for (uint32_t i = 0; i < count; i += 8, at += words.width) {
      const __m256i values = Unpack(eight, at);
      for (size_t r = 0; r < N; ++r) {
        const __m256i in = _mm256_and_si256(_mm256_cmpgt_epi32(values, before[r]),
                                            _mm256_cmpgt_epi32(end[r], values));
        found[r] |= uint64_t{static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(in)))}
                    << i;
      }
    }
    for (size_t r = 0; r < N; ++r)
      masks[ranges[r].role * stride + block] |= found[r] & LowBits(count);
  }
}

#define GANNET_AVX512 __attribute__((target("avx512f,avx512bw,avx512vbmi")))

// Sixteen values in up to 51 bytes.
struct Sixteen {
  __m512i bytes, shift, mask;
  uint32_t first, width;
};

GANNET_AVX512 inline Sixteen SixteenFrom(uint64_t bit, uint32_t width) {
  const auto first = static_cast<uint32_t>(bit & 7);
  return {_mm512_load_si512(kUnpacking.bytes[first][width].data()),
          _mm512_load_si512(kUnpacking.shift[first][width].data()),
          _mm512_set1_epi32(static_cast<int>(LowBits(width))), first, width};
}

// count: number of values present; bytes after them are not read.
GANNET_AVX512 inline __m512i Unpack(const Sixteen& sixteen, const char* at, uint32_t count) {
  const __mmask64 used =
      LowBits((sixteen.first + std::min(count, kValues) * sixteen.width + 7) / 8);
  const __m512i bytes = _mm512_permutexvar_epi8(sixteen.bytes, _mm512_maskz_loadu_epi8(used, at));
  return _mm512_and_si512(_mm512_srlv_epi32(bytes, sixteen.shift), sixteen.mask);
}

GANNET_AVX512 uint64_t MatchRangesAvx512(const OrdinalSet& set, const char* data, uint64_t bit,
                                         uint32_t count, uint32_t width, Ordinal* ordinals) {
  uint64_t found = 0;
  const size_t ranges = set.ranges.size();
  __m512i begin[OrdinalSet::kRangesMax], size[OrdinalSet::kRangesMax];
  for (size_t r = 0; r < ranges; ++r) {
    begin[r] = _mm512_set1_epi32(static_cast<int>(set.ranges[r].first));
    size[r] = _mm512_set1_epi32(static_cast<int>(set.ranges[r].second - set.ranges[r].first));
  }
  const Sixteen sixteen = SixteenFrom(bit, width);
  const char* at = data + (bit >> 3);
  for (uint32_t i = 0; i < count; i += kValues, at += size_t{2} * width) {
    const __m512i values = Unpack(sixteen, at, count - i);
    uint32_t in = 0;
    for (size_t r = 0; r < ranges; ++r)
      in |= _mm512_cmplt_epu32_mask(_mm512_sub_epi32(values, begin[r]), size[r]);
    if (in != 0) {
      _mm512_storeu_si512(ordinals + i, values);
      found |= uint64_t{in} << i;
    }
  }
  return found & LowBits(count);
}

GANNET_AVX512 uint64_t MatchBitsAvx512(const OrdinalSet& set, const char* data, uint64_t bit,
                                       uint32_t count, uint32_t width, Ordinal* ordinals) {
  uint64_t found = 0;
  const __m512i last = _mm512_set1_epi32(static_cast<int>(set.bits.size()) - 1);
  const __m512i one = _mm512_set1_epi32(1);
  const Sixteen sixteen = SixteenFrom(bit, width);
  const char* at = data + (bit >> 3);
  for (uint32_t i = 0; i < count; i += kValues, at += size_t{2} * width) {
    const __m512i values = Unpack(sixteen, at, count - i);
    const __m512i index = _mm512_min_epu32(_mm512_srli_epi32(values, 5), last);
    const __m512i words = _mm512_i32gather_epi32(index, set.bits.data(), 4);
    const __m512i wanted = _mm512_sllv_epi32(one, _mm512_and_si512(values, _mm512_set1_epi32(31)));
    const uint32_t in = _mm512_test_epi32_mask(words, wanted);
    if (in != 0) {
      _mm512_storeu_si512(ordinals + i, values);
      found |= uint64_t{in} << i;
    }
  }
  return found & LowBits(count);
}

#endif

}  // namespace

void OrdinalSet::Add(Ordinal begin, Ordinal end) {
  if (begin < end) ranges.emplace_back(begin, end);
}

void OrdinalSet::Seal() {
  Order();
  const bool few = ranges.size() <= kRangesMax;
  if (!few) {
    bits.assign(word_count_ / 32 + 1, 0);
    for (const auto& [begin, end] : ranges) {
      for (Ordinal ordinal = begin; ordinal < end;) {
        if (ordinal % 32 == 0 && end - ordinal >= 32) {
          bits[ordinal / 32] = ~uint32_t{0};
          ordinal += 32;
        } else {
          bits[ordinal / 32] |= uint32_t{1} << ordinal % 32;
          ++ordinal;
        }
      }
    }
  }
  match_ = MatchPortable;
#if defined(__x86_64__)
  if (segment::OrdinalWidth(word_count_) <= kWidthMax) {
    match_ = few ? ForCpu(MatchRangesAvx512, MatchRangesAvx2, MatchPortable)
                 : ForCpu(MatchBitsAvx512, MatchBitsAvx2, MatchPortable);
  }
#endif
}

void MatchRoles(std::span<const RoleRange> ranges, const segment::PackedOrdinals& words,
                uint64_t* masks, size_t stride) {
  for (const RoleRange& range : ranges)
    std::fill_n(masks + range.role * stride, (words.count + 63) / 64, 0);
#if defined(__x86_64__)
  if (words.width <= kWidthMax && Cpu() != CpuLevel::kPortable && !ranges.empty()) {
    static constexpr decltype(&MatchRolesAvx2<1>) kKernels[kRoleRangesMax] = {
        MatchRolesAvx2<1>, MatchRolesAvx2<2>, MatchRolesAvx2<3>,
        MatchRolesAvx2<4>, MatchRolesAvx2<5>, MatchRolesAvx2<6>};
    return kKernels[ranges.size() - 1](ranges.data(), words, masks, stride);
  }
#endif
  for (uint32_t i = 0; i < words.count; ++i) {
    const Ordinal ordinal = words.at(i);
    for (const RoleRange& range : ranges) {
      if (ordinal >= range.begin && ordinal < range.end)
        masks[range.role * stride + i / 64] |= uint64_t{1} << i % 64;
    }
  }
}

bool OrdinalSet::Has(Ordinal ordinal) const {
  if (!bits.empty())
    return ordinal / 32 < bits.size() && (bits[ordinal / 32] >> ordinal % 32 & 1) != 0;
  const auto behind =
      std::upper_bound(ranges.begin(), ranges.end(), ordinal,
                       [](Ordinal o, const segment::WordRange& range) { return o < range.second; });
  return behind != ranges.end() && ordinal >= behind->first;
}

}  // namespace gannet::search
