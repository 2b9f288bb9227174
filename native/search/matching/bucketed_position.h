// Word positions as ranking distinguishes them (docs/behaviour/fields.md): exact only up to 15, in
// buckets above.
#pragma once

#include <cstdint>

namespace gannet::search {

inline constexpr uint32_t kExactPositions = 16;

inline constexpr uint32_t BucketedPosition(uint32_t position) {
  if (position < kExactPositions) return position;
  if (position < 24) return 24;
  if (position == 24) return 32;
  uint32_t power = 32;
  while (power < position) power *= 2;
  return power;
}

}  // namespace gannet::search
