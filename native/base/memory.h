// Memory that malloc keeps for later, given back to the system.
#pragma once

#include <cstdint>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace gannet {

// Of work that held less than this, what is kept is not worth the walk through it.
inline constexpr uint64_t kReturnMemoryMin = uint64_t{16} << 20;

// Cost: about a millisecond per 100 MB.
inline void ReturnFreeMemory() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

// To be called after work that has freed `bytes`. Without it the arenas of the threads that index
// keep what they held at most, several hundred MB after a large load.
inline void ReturnFreeMemory(uint64_t bytes) {
  if (bytes >= kReturnMemoryMin) ReturnFreeMemory();
}

}  // namespace gannet
