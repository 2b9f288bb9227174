// The size of a cache line. Aligned to it, what many threads write shares no line with what others
// read: each write takes the whole line from the caches of the other cores.
#pragma once

#include <cstddef>

namespace gannet {

// std::hardware_destructive_interference_size depends on the flags of the compiler.
inline constexpr size_t kCacheLine = 64;

}  // namespace gannet
