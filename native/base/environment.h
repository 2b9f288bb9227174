// Numbers that tests set from outside.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace gannet {

// The number that a variable of the environment names; `otherwise` where there is none, or 0.
inline uint64_t EnvironmentNumber(const char* name, uint64_t otherwise) {
  const char* named = std::getenv(name);
  const uint64_t number = named == nullptr ? 0 : std::strtoull(named, nullptr, 10);
  return number > 0 ? number : otherwise;
}

}  // namespace gannet
