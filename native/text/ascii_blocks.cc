#include "text/ascii_blocks.h"

#include <cstring>

#include "base/cpu.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define GANNET_SHUFFLES __attribute__((target("ssse3")))
#elif defined(__aarch64__)
#include <arm_neon.h>
#define GANNET_SHUFFLES
#endif

namespace gannet::text {
namespace {

void Insert(std::array<uint8_t, 16>& set, uint8_t c) {
  set[c & 15] = static_cast<uint8_t>(set[c & 15] | 1 << (c >> 4));
}

}  // namespace

void AsciiBlocks::AddSeparator(uint8_t c, bool hard) {
  Insert(separators_, c);
  if (hard) Insert(hards_, c);
}

void AsciiBlocks::AddUnclean(uint8_t c) { Insert(uncleans_, c); }

// classify(bytes, lower, lanes): masks of `lanes` * 16 bytes, higher bits 0.
template <typename ClassifyLanes>
#if defined(__x86_64__)
__attribute__((always_inline))
#endif
inline bool
AsciiBlocks::ClassifyWith(const ClassifyLanes& classify, std::string_view text, char* lower,
                          AsciiBlock* blocks) {
  uint64_t after_point = 0;  // the block before ended with a comma or full stop
  for (size_t base = 0; base < text.size(); base += kAsciiBlock) {
    const size_t left = text.size() - base;
    uint64_t valid = ~uint64_t{0};
    Masks masks;
    if (left >= kAsciiBlock) {
      masks = classify(text.data() + base, lower + base, 4);
    } else {
      alignas(16) char padded[kAsciiBlock];
      std::memset(padded, ' ', kAsciiBlock);
      std::memcpy(padded, text.data() + base, left);
      valid = (uint64_t{1} << left) - 1;
      masks = classify(padded, lower + base, static_cast<int>((left + 15) / 16));
    }
    if (masks.unclean != 0) return false;
    // A space is never in a word, so the separator may be recorded at either of its two characters.
    const uint64_t spaced_point = (masks.point << 1 | after_point) & masks.space;
    *blocks++ = {~masks.separator & valid, (masks.hard | spaced_point) & valid};
    after_point = masks.point >> 63;
  }
  return true;
}

bool AsciiBlocks::ClassifyPortably(std::string_view text, char* lower, AsciiBlock* blocks) const {
  const auto classify = [this](const char* bytes, char* out, int lanes) {
    Masks masks{};
    for (int i = 0; i < 16 * lanes; ++i) {
      const uint8_t c = static_cast<uint8_t>(bytes[i]);
      const auto in = [c](const Set& set) {
        return uint64_t{c < 0x80 && (set[c & 15] >> (c >> 4) & 1)};
      };
      masks.separator |= in(separators_) << i;
      masks.hard |= in(hards_) << i;
      masks.unclean |= (in(uncleans_) | (c >> 7)) << i;
      masks.point |= uint64_t{c == ',' || c == '.'} << i;
      masks.space |= uint64_t{c == ' '} << i;
      out[i] = static_cast<char>(c | (static_cast<uint8_t>(c - 'A') < 26) << 5);
    }
    return masks;
  };
  return ClassifyWith(classify, text, lower, blocks);
}

#if defined(__x86_64__)

GANNET_SHUFFLES bool AsciiBlocks::ClassifyShuffled(std::string_view text, char* lower,
                                                   AsciiBlock* blocks) const {
  const __m128i separators = _mm_load_si128(reinterpret_cast<const __m128i*>(separators_.data()));
  const __m128i hards = _mm_load_si128(reinterpret_cast<const __m128i*>(hards_.data()));
  const __m128i uncleans = _mm_load_si128(reinterpret_cast<const __m128i*>(uncleans_.data()));
  const __m128i powers = _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m128i nibble = _mm_set1_epi8(15);
  const auto classify = [&](const char* bytes, char* out, int lanes) GANNET_SHUFFLES {
    Masks masks{};
    for (int lane = 0; lane < lanes; ++lane) {
      const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + 16 * lane));
      const __m128i row = _mm_and_si128(v, nibble);
      const __m128i bit = _mm_shuffle_epi8(powers, _mm_and_si128(_mm_srli_epi16(v, 4), nibble));
      const __m128i zero = _mm_setzero_si128();
      const auto misses = [&](__m128i set) GANNET_SHUFFLES {
        const __m128i hit = _mm_and_si128(_mm_shuffle_epi8(set, row), bit);
        return static_cast<uint64_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(hit, zero)));
      };
      const auto equals = [&](char c) GANNET_SHUFFLES {
        return static_cast<uint64_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(v, _mm_set1_epi8(c))));
      };
      const int shift = 16 * lane;
      masks.separator |= (misses(separators) ^ 0xffff) << shift;
      masks.hard |= (misses(hards) ^ 0xffff) << shift;
      masks.unclean |= ((misses(uncleans) ^ 0xffff) | static_cast<uint64_t>(_mm_movemask_epi8(v)))
                       << shift;
      masks.point |= (equals(',') | equals('.')) << shift;
      masks.space |= equals(' ') << shift;
      // Signed comparison: bytes >= 0x80 are below 'A'.
      const __m128i upper = _mm_and_si128(_mm_cmpgt_epi8(v, _mm_set1_epi8('A' - 1)),
                                          _mm_cmplt_epi8(v, _mm_set1_epi8('Z' + 1)));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 16 * lane),
                       _mm_or_si128(v, _mm_and_si128(upper, _mm_set1_epi8(0x20))));
    }
    return masks;
  };
  return ClassifyWith(classify, text, lower, blocks);
}

bool AsciiBlocks::Classify(std::string_view text, char* lower, AsciiBlock* blocks) const {
  return Cpu() != CpuLevel::kPortable ? ClassifyShuffled(text, lower, blocks)
                                      : ClassifyPortably(text, lower, blocks);
}

#elif defined(__aarch64__)

bool AsciiBlocks::ClassifyShuffled(std::string_view text, char* lower, AsciiBlock* blocks) const {
  const uint8x16_t separators = vld1q_u8(separators_.data());
  const uint8x16_t hards = vld1q_u8(hards_.data());
  const uint8x16_t uncleans = vld1q_u8(uncleans_.data());
  constexpr uint8_t kPowers[16] = {1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t powers = vld1q_u8(kPowers);
  constexpr uint8_t kBits[16] = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const uint8x16_t bits = vld1q_u8(kBits);
  const auto mask_of = [&](uint8x16_t truth) {
    const uint8x16_t weighted = vandq_u8(truth, bits);
    return uint64_t{vaddv_u8(vget_low_u8(weighted))} | uint64_t{vaddv_u8(vget_high_u8(weighted))}
                                                           << 8;
  };
  const auto classify = [&](const char* bytes, char* out, int lanes) {
    Masks masks{};
    for (int lane = 0; lane < lanes; ++lane) {
      const uint8x16_t v = vld1q_u8(reinterpret_cast<const uint8_t*>(bytes) + 16 * lane);
      const uint8x16_t row = vandq_u8(v, vdupq_n_u8(15));
      const uint8x16_t bit = vqtbl1q_u8(powers, vshrq_n_u8(v, 4));
      const auto in = [&](uint8x16_t set) { return vtstq_u8(vqtbl1q_u8(set, row), bit); };
      const auto equals = [&](char c) { return vceqq_u8(v, vdupq_n_u8(static_cast<uint8_t>(c))); };
      const int shift = 16 * lane;
      masks.separator |= mask_of(in(separators)) << shift;
      masks.hard |= mask_of(in(hards)) << shift;
      masks.unclean |= mask_of(vorrq_u8(in(uncleans), vcgeq_u8(v, vdupq_n_u8(0x80)))) << shift;
      masks.point |= mask_of(vorrq_u8(equals(','), equals('.'))) << shift;
      masks.space |= mask_of(equals(' ')) << shift;
      const uint8x16_t upper = vcltq_u8(vsubq_u8(v, vdupq_n_u8('A')), vdupq_n_u8(26));
      vst1q_u8(reinterpret_cast<uint8_t*>(out) + 16 * lane,
               vorrq_u8(v, vandq_u8(upper, vdupq_n_u8(0x20))));
    }
    return masks;
  };
  return ClassifyWith(classify, text, lower, blocks);
}

bool AsciiBlocks::Classify(std::string_view text, char* lower, AsciiBlock* blocks) const {
  return ClassifyShuffled(text, lower, blocks);
}

#else

bool AsciiBlocks::Classify(std::string_view text, char* lower, AsciiBlock* blocks) const {
  return ClassifyPortably(text, lower, blocks);
}

#endif

}  // namespace gannet::text
