#include "base/checksum.h"

#include <xxhash.h>

namespace gannet {

uint64_t Checksum(std::string_view bytes, uint64_t seed) {
  return XXH64(bytes.data(), bytes.size(), seed);
}

}  // namespace gannet
