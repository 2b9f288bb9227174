// What the benchmarks of vectors share.
#pragma once

#include <time.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

// CPU time of the thread or the process.
inline double Seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

inline float FromHalf(uint16_t half) {
  const int exponent = half >> 10 & 31, mantissa = half & 1023;
  const float size = exponent == 0
                         ? std::ldexp(static_cast<float>(mantissa), -24)
                         : std::ldexp(1 + static_cast<float>(mantissa) / 1024, exponent - 15);
  return (half & 0x8000) != 0 ? -size : size;
}

// The numbers of a file of half precision.
inline std::vector<float> ReadHalves(const char* path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), {}};
  std::vector<float> numbers(bytes.size() / 2);
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = FromHalf(static_cast<uint16_t>(static_cast<uint8_t>(bytes[2 * i]) |
                                                static_cast<uint8_t>(bytes[2 * i + 1]) << 8));
  }
  return numbers;
}
