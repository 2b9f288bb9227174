// Packs ordinals as forward records do, and provides memory after which no byte may be read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "base/ids.h"

namespace gannet::search {

// Packs ordinals, with no bytes after the last. width: bits per ordinal, lowest first.
inline std::string Pack(const std::vector<Ordinal>& ordinals, uint32_t width) {
  std::string bytes((ordinals.size() * width + 7) / 8, '\0');
  for (size_t i = 0; i < ordinals.size(); ++i) {
    for (uint32_t bit = 0; bit < width; ++bit) {
      const size_t at = i * width + bit;
      bytes[at / 8] = static_cast<char>(bytes[at / 8] | (ordinals[i] >> bit & 1) << at % 8);
    }
  }
  return bytes;
}

// Bytes with the padding that may be read after a record, followed by a page that must not be read.
inline constexpr size_t kReadBehind = 25;

class GuardedBytes {
 public:
  GuardedBytes() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    memory_ = static_cast<char*>(
        mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(memory_ + page_, page_, PROT_NONE);
  }
  ~GuardedBytes() { munmap(memory_, 2 * page_); }
  GuardedBytes(const GuardedBytes&) = delete;

  // The result is valid until the next call. filler: value of the surrounding bytes. REQUIRES: at
  // most half a page.
  std::string_view Put(std::string_view bytes, char filler) {
    std::fill_n(memory_, page_, filler);
    char* at = memory_ + page_ - kReadBehind - bytes.size();
    std::copy(bytes.begin(), bytes.end(), at);
    return {at, bytes.size()};
  }

 private:
  size_t page_;
  char* memory_;
};

}  // namespace gannet::search
