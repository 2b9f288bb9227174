// Returning memory that malloc keeps to the system.
#pragma once

#include <cstdint>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace gannet {

// Below this, the memory that malloc keeps is not worth the time to return it.
inline constexpr uint64_t kReturnMemoryMin = uint64_t{16} << 20;

// Cost: about a millisecond per 100 MB.
inline void ReturnFreeMemory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

// Call this after work that has freed `bytes`. Otherwise the arenas of the indexing threads keep
// their peak size, several hundred MB after a large load.
inline void ReturnFreeMemory(uint64_t bytes) {
  if (bytes >= kReturnMemoryMin) ReturnFreeMemory();
}

}  // namespace gannet
