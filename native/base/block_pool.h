// Memory blocks that a thread has freed, kept for what it allocates next.
//
// A search makes and drops thousands of blocks: containers of sets, vectors, strings. malloc keeps
// 7 of each small size at hand for a thread; all others it joins with their neighbours and cuts up
// again, which was a fifth of the time of an ordinary search. The pool stands in front of malloc:
// what comes from it are blocks of malloc, so blocks of either may be freed by the other.
//
// Memory: at most kPooledBytesMax per thread, given back when the thread ends. But what is kept is
// scattered, and malloc keeps the pages around it: RefreshPool.
// Without effect, but for malloc itself: under sanitizers, and where the C library does not tell
// the size of a block.
#pragma once

#include <cstddef>

namespace gannet {

inline constexpr size_t kPooledBytesMax = size_t{8} << 20;

// As the functions of C with these names. Errors: null when there is no memory.
void* PoolMalloc(size_t size);
void* PoolRealloc(void* block, size_t size);
void* PoolAlignedMalloc(size_t alignment, size_t size);
void PoolFree(void* block);         // of PoolMalloc, PoolRealloc or malloc
void PoolAlignedFree(void* block);  // of PoolAlignedMalloc

// Gives back what the thread keeps and, for one of the threads that ask, the pages that malloc then
// finds empty. Every 10 s; in between it does nothing, and may be called as often as one likes.
// Without it the arenas of the threads that search and write grew by 15 MB a minute under 100
// searches and 20 changes a second (docs/performance.md).
// cost  some milliseconds
void RefreshPool();

}  // namespace gannet
