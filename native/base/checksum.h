// Checksum of stored blocks: XXH64 (https://xxhash.com, "xxHash fast digest algorithm").
#pragma once

#include <cstdint>
#include <string_view>

namespace gannet {

// 64-bit digest of `bytes`; the same on every machine. About 10 GB/s.
uint64_t Checksum(std::string_view bytes, uint64_t seed = 0);

}  // namespace gannet
