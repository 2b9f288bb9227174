#include "text/ideographs.h"

#include <algorithm>
#include <iterator>

namespace gannet::text {
namespace {

struct Variant {
  char32_t written, form;
};

// By `written`, ascending.
constexpr Variant kVariants[] = {
#include <ideographs.inc>
};

constexpr bool Before(const Variant& a, const Variant& b) { return a.written < b.written; }
static_assert(std::is_sorted(std::begin(kVariants), std::end(kVariants), Before));

}  // namespace

char32_t IdeographForm(char32_t c) {
  if (c < std::begin(kVariants)->written || c > std::rbegin(kVariants)->written) return c;
  const auto variant = std::lower_bound(std::begin(kVariants), std::end(kVariants), Variant{c, c}, Before);
  return variant->written == c ? variant->form : c;
}

}  // namespace gannet::text
