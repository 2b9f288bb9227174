// C++ allocations of the addon come from the pool of the thread (base/block_pool.h). Only calls
// from within the addon are bound to these operators: see its link options. Blocks that cross its
// boundary may be freed on either side.
#include <cstdlib>
#include <new>

#include "base/block_pool.h"
#include "base/sanitizers.h"

#ifndef GANNET_SANITIZED

void* operator new(std::size_t size) {
  void* block = gannet::PoolMalloc(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new[](std::size_t size) { return operator new(size); }
void operator delete(void* block) noexcept { gannet::PoolFree(block); }
void operator delete[](void* block) noexcept { gannet::PoolFree(block); }
void operator delete(void* block, std::size_t) noexcept { gannet::PoolFree(block); }
void operator delete[](void* block, std::size_t) noexcept { gannet::PoolFree(block); }

#endif
