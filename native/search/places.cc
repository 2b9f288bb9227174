#include "search/places.h"

#include <algorithm>
#include <array>

#include "base/bytes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace gannet::search {
namespace {

uint64_t MatchPortable(const OrdinalSet& set, const char* data, uint64_t bit, uint32_t count, uint32_t width,
                       Ordinal* ordinals) {
  const uint64_t mask = (uint64_t{1} << width) - 1;
  uint64_t found = 0;
  for (uint32_t i = 0; i < count; ++i, bit += width) {
    ordinals[i] = static_cast<Ordinal>(LoadFixed<uint64_t>(data + (bit >> 3)) >> (bit & 7) & mask);
    found |= uint64_t{set.Has(ordinals[i])} << i;
  }
  return found;
}

#if defined(__x86_64__)

// Widths up to 25 bits: four packed values, wherever the first begins within its byte, lie in 16 bytes, and each
// in 4 of them.
constexpr uint32_t kWidthMax = 25;

struct Unpacking {
  // By first bit within a byte and width: where the 4 bytes of each value are, and how far to shift them.
  alignas(16) std::array<std::array<std::array<uint8_t, 16>, kWidthMax + 1>, 8> shuffle;
  alignas(16) std::array<std::array<std::array<uint32_t, 4>, kWidthMax + 1>, 8> shift;
};

constexpr Unpacking MakeUnpacking() {
  Unpacking tables{};
  for (uint32_t first = 0; first < 8; ++first) {
    for (uint32_t width = 1; width <= kWidthMax; ++width) {
      for (uint32_t value = 0; value < 4; ++value) {
        const uint32_t at = first + value * width;
        tables.shift[first][width][value] = at & 7;
        for (uint32_t byte = 0; byte < 4; ++byte) {
          tables.shuffle[first][width][value * 4 + byte] = static_cast<uint8_t>((at >> 3) + byte);
        }
      }
    }
  }
  return tables;
}

constexpr Unpacking kUnpacking = MakeUnpacking();

__attribute__((target("avx2"))) inline __m256i Unpack8(const char* data, uint64_t bit, uint32_t width) {
  const uint64_t second = bit + 4 * width;
  const uint32_t a = bit & 7, b = second & 7;
  const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data + (bit >> 3)));
  const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(data + (second >> 3)));
  const auto load = [](const auto& row) { return _mm_load_si128(reinterpret_cast<const __m128i*>(row.data())); };
  const __m256i bytes = _mm256_set_m128i(_mm_shuffle_epi8(high, load(kUnpacking.shuffle[b][width])),
                                         _mm_shuffle_epi8(low, load(kUnpacking.shuffle[a][width])));
  const __m256i shifts = _mm256_set_m128i(load(kUnpacking.shift[b][width]), load(kUnpacking.shift[a][width]));
  return _mm256_and_si256(_mm256_srlv_epi32(bytes, shifts), _mm256_set1_epi32(static_cast<int>((1u << width) - 1)));
}

__attribute__((target("avx2"))) uint64_t MatchRangesAvx2(const OrdinalSet& set, const char* data, uint64_t bit,
                                                         uint32_t count, uint32_t width, Ordinal* ordinals) {
  uint64_t found = 0;
  const size_t ranges = set.ranges.size();
  __m256i before[OrdinalSet::kRangesMax], end[OrdinalSet::kRangesMax];
  for (size_t r = 0; r < ranges; ++r) {
    before[r] = _mm256_set1_epi32(static_cast<int>(set.ranges[r].first) - 1);
    end[r] = _mm256_set1_epi32(static_cast<int>(set.ranges[r].second));
  }
  for (uint32_t i = 0; i < count; i += 8, bit += 8 * uint64_t{width}) {
    const __m256i values = Unpack8(data, bit, width);
    __m256i in = _mm256_setzero_si256();
    for (size_t r = 0; r < ranges; ++r) {
      in = _mm256_or_si256(in, _mm256_and_si256(_mm256_cmpgt_epi32(values, before[r]), _mm256_cmpgt_epi32(end[r], values)));
    }
    const auto mask = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(in)));
    if (mask != 0) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(ordinals + i), values);
      found |= uint64_t{mask} << i;
    }
  }
  return count == 64 ? found : found & ((uint64_t{1} << count) - 1);
}

__attribute__((target("avx2"))) uint64_t MatchBitsAvx2(const OrdinalSet& set, const char* data, uint64_t bit,
                                                       uint32_t count, uint32_t width, Ordinal* ordinals) {
  uint64_t found = 0;
  const int* bits = reinterpret_cast<const int*>(set.bits.data());
  const __m256i last = _mm256_set1_epi32(static_cast<int>(set.bits.size()) - 1);
  for (uint32_t i = 0; i < count; i += 8, bit += 8 * uint64_t{width}) {
    const __m256i values = Unpack8(data, bit, width);
    // Bits behind the last packed value may be anything: the index stays inside the table.
    const __m256i index = _mm256_min_epu32(_mm256_srli_epi32(values, 5), last);
    const __m256i words = _mm256_i32gather_epi32(bits, index, 4);
    const __m256i shifted = _mm256_sllv_epi32(words, _mm256_sub_epi32(_mm256_set1_epi32(31), _mm256_and_si256(values, _mm256_set1_epi32(31))));
    const auto mask = static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(shifted)));
    if (mask != 0) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(ordinals + i), values);
      found |= uint64_t{mask} << i;
    }
  }
  return count == 64 ? found : found & ((uint64_t{1} << count) - 1);
}

#endif

}  // namespace

void OrdinalSet::Add(Ordinal begin, Ordinal end) {
  if (begin < end) ranges.emplace_back(begin, end);
}

void OrdinalSet::Seal() {
  std::sort(ranges.begin(), ranges.end());
  size_t kept = 0;
  for (const auto& range : ranges) {
    if (kept > 0 && range.first <= ranges[kept - 1].second) {
      ranges[kept - 1].second = std::max(ranges[kept - 1].second, range.second);
    } else {
      ranges[kept++] = range;
    }
  }
  ranges.resize(kept);
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
  if (__builtin_cpu_supports("avx2") && segment::OrdinalWidth(word_count_) <= kWidthMax) {
    match_ = few ? MatchRangesAvx2 : MatchBitsAvx2;
  }
#endif
}

bool OrdinalSet::Has(Ordinal ordinal) const {
  if (!bits.empty()) return ordinal / 32 < bits.size() && (bits[ordinal / 32] >> ordinal % 32 & 1) != 0;
  for (const auto& [begin, end] : ranges) {
    if (ordinal >= begin && ordinal < end) return true;
  }
  return false;
}

void RoleMap::Add(Ordinal ordinal, Role role) {
  set_.Add(ordinal, ordinal + 1);
  uint32_t& head = heads_[ordinal & (heads_.size() - 1)];
  entries_.push_back({ordinal, role});
  next_.push_back(head);
  head = static_cast<uint32_t>(entries_.size());
}

void RoleMap::AddRange(Ordinal begin, Ordinal end, Role role) {
  if (begin >= end) return;
  set_.Add(begin, end);
  ranges_.push_back({begin, end, role});
}

}  // namespace gannet::search
