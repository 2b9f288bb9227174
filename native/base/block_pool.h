// A pool of memory blocks that a thread has freed, for its next allocations.
//
// A search makes and drops thousands of blocks: containers of sets, vectors, strings. malloc keeps
// 7 blocks of each small size at hand per thread; it merges all others with their neighbours and
// splits them again, which was a fifth of the time of an ordinary search. The pool sits in front of
// malloc: its blocks come from malloc, so either may free the blocks of the other.
//
// Memory: at most kPooledBytesMax per thread, freed when the thread ends. Pooled blocks are spread
// over many pages, which malloc cannot return: see RefreshPool. The pool does nothing but call
// malloc under sanitizers, and where the C library does not report the size of a block.
#pragma once

#include <cstddef>

namespace gannet {

inline constexpr size_t kPooledBytesMax = size_t{8} << 20;

// Like the C functions with these names. Errors: null when there is no memory.
void* PoolMalloc(size_t size);
void* PoolRealloc(void* block, size_t size);
void* PoolAlignedMalloc(size_t alignment, size_t size);
void PoolFree(void* block);         // a block from PoolMalloc, PoolRealloc or malloc
void PoolAlignedFree(void* block);  // a block from PoolAlignedMalloc

// Every 10 s, frees the blocks that the thread keeps; one of the calling threads also returns the
// pages that malloc then finds empty. Calls in between do nothing and cost little. Without it the
// arenas of the search and write threads grew by 15 MB a minute under 100 searches and 20 changes a
// second (docs/performance.md).
// cost  some milliseconds
void RefreshPool();

}  // namespace gannet
