// The seed of property tests.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>

namespace gannet {

// One seed per run, printed: GANNET_SEED replays a failure.
inline uint64_t TestSeed() {
  static const uint64_t seed = [] {
    const char* given = std::getenv("GANNET_SEED");
    const uint64_t value = given ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::cout << "GANNET_SEED=" << value << std::endl;
    return value;
  }();
  return seed;
}

}  // namespace gannet
