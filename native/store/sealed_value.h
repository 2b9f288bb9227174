// The checksum that every stored value carries: LMDB has none of its own.
//
// A value is stored with four bytes behind it, the low half of XXH64 over table, key and value. So
// a bit that has changed in the key or in the value is found, and a value that stands where another
// one belongs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/checksum.h"

namespace gannet::store {

inline constexpr size_t kSumBytes = sizeof(uint32_t);

// seed: TableSeed of the table.
inline uint32_t SumOf(uint64_t seed, std::string_view key, std::string_view value) {
  return static_cast<uint32_t>(Checksum(value, Checksum(key, seed)));
}

inline uint64_t TableSeed(std::string_view name) { return Checksum(name); }

// The value of what is stored; nullopt: it is not that of this key, or damaged.
inline std::optional<std::string_view> Unsealed(uint64_t seed, std::string_view key,
                                                std::string_view stored) {
  if (stored.size() < kSumBytes) return std::nullopt;
  const std::string_view value = stored.substr(0, stored.size() - kSumBytes);
  if (LoadFixed<uint32_t>(stored.data() + value.size()) != SumOf(seed, key, value))
    return std::nullopt;
  return value;
}

}  // namespace gannet::store
