#include "base/uuid.h"

#include <chrono>
#include <cstdint>
#include <random>

namespace gannet {

std::string MakeUuid7() {
  thread_local std::mt19937_64 random(std::random_device{}());
  const auto milliseconds =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(
                                std::chrono::system_clock::now().time_since_epoch())
                                .count());
  uint64_t high = milliseconds << 16 | 0x7000 | (random() & 0xfff);
  uint64_t low = uint64_t{2} << 62 | (random() >> 2);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (int i = 0; i < 32; ++i) {
    if (i == 8 || i == 12 || i == 16 || i == 20) out += '-';
    uint64_t& part = i < 16 ? high : low;
    out += kDigits[part >> 60];
    part <<= 4;
  }
  return out;
}

}  // namespace gannet
