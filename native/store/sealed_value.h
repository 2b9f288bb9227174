// The checksum that every stored value carries, because LMDB has none of its own.
//
// A value is stored with four bytes appended: the low half of XXH64 over table, key and value. This
// detects a changed bit in the key or the value, and a value stored under the wrong key.
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

// The value without its checksum; nullopt: it is damaged, or belongs to another key.
inline std::optional<std::string_view> Unsealed(uint64_t seed, std::string_view key,
                                                std::string_view stored) {
  if (stored.size() < kSumBytes) return std::nullopt;
  const std::string_view value = stored.substr(0, stored.size() - kSumBytes);
  if (LoadFixed<uint32_t>(stored.data() + value.size()) != SumOf(seed, key, value))
    return std::nullopt;
  return value;
}

}  // namespace gannet::store
