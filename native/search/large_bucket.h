// From which size on a bucket is split by posting lists instead of by reading its documents.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace gannet::search {

// Smaller buckets are read as quickly. GANNET_LARGE_BUCKET: another number, so that tests compare both ways on few documents.
inline uint64_t LargeBucketMin() {
  static const uint64_t least = [] {
    const char* named = std::getenv("GANNET_LARGE_BUCKET");
    const uint64_t number = named == nullptr ? 0 : std::strtoull(named, nullptr, 10);
    return number > 0 ? number : uint64_t{1024};
  }();
  return least;
}

}  // namespace gannet::search
