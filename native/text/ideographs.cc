#include "text/ideographs.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace gannet::text {
namespace {

struct Variant {
  char32_t written, form;
};

// Ascending by `written`.
constexpr Variant kVariants[] = {
#include <ideographs.inc>
};

constexpr bool Before(const Variant& a, const Variant& b) { return a.written < b.written; }
static_assert(std::is_sorted(std::begin(kVariants), std::end(kVariants), Before));

// The range of nearly all text: the unified ideographs of the first plane with their extension A.
constexpr char32_t kUsualBegin = 0x3400, kUsualEnd = 0xa000;

// For each ideograph of the range, 1 + its index in `kVariants`, or 0. 55 KB, of which a text
// touches only the cache lines of its own characters.
constexpr auto kUsualIndexes = [] {
  std::array<uint16_t, kUsualEnd - kUsualBegin> indexes{};
  for (size_t i = 0; i < std::size(kVariants); ++i) {
    const char32_t written = kVariants[i].written;
    if (written >= kUsualBegin && written < kUsualEnd)
      indexes[written - kUsualBegin] = static_cast<uint16_t>(i + 1);
  }
  return indexes;
}();
static_assert(std::size(kVariants) < UINT16_MAX);

}  // namespace

char32_t IdeographForm(char32_t c) {
  if (c >= kUsualBegin && c < kUsualEnd) {
    const uint16_t index = kUsualIndexes[c - kUsualBegin];
    return index == 0 ? c : kVariants[index - 1].form;
  }
  if (c < std::begin(kVariants)->written || c > std::rbegin(kVariants)->written) return c;
  const auto variant =
      std::lower_bound(std::begin(kVariants), std::end(kVariants), Variant{c, c}, Before);
  return variant->written == c ? variant->form : c;
}

}  // namespace gannet::text
