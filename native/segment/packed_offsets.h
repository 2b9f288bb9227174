// Ascending offsets in compact form: where the rows, records or lists of a part begin and end.
//
// The first of every 64 offsets is stored whole. Each offset is stored as its distance from the
// first of its 64, packed to as many bits as the greatest distance needs. For rows of 300 bytes an
// offset then takes 15 bits instead of 64, and two loads.
//
// Bytes, none when there are no offsets: u64 offsets, u64 bits per distance, u64 for each 64th
// offset, the distances (lowest bits first, padded to a byte), 8 zero bytes, so that readers may
// load whole words.
//
// Threads: immutable and shared.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"

namespace gannet::segment {

// REQUIRES: ascending; no distance within 64 offsets takes more than 56 bits.
std::string PackOffsets(std::span<const uint64_t> offsets);

// Lifetime: borrows the bytes.
class PackedOffsets {
 public:
  PackedOffsets() = default;
  // Corruption: the size does not fit the number of offsets. Does not check that they ascend: see
  // IsAscending.
  static Result<PackedOffsets> Open(std::string_view bytes);
  // Checks that as well, and that there are some.
  static Result<PackedOffsets> OpenAscending(std::string_view bytes);

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // REQUIRES: i < size()
  // cost  two loads, which may miss the cache
  uint64_t operator[](size_t i) const {
    const uint64_t bit = uint64_t{i} * width_;
    return LoadFixed<uint64_t>(firsts_ + i / kGroup * sizeof(uint64_t)) +
           (LoadFixed<uint64_t>(distances_ + (bit >> 3)) >> (bit & 7) & mask_);
  }
  // Where item `i` begins and ends: the offsets i and i + 1. REQUIRES: i + 1 < size()
  struct Range {
    uint64_t begin, end;
  };
  Range RangeOf(size_t i) const { return {(*this)[i], (*this)[i + 1]}; }
  // REQUIRES: !empty()
  uint64_t front() const { return (*this)[0]; }
  uint64_t back() const { return (*this)[size_ - 1]; }
  // Prefetches what operator[] loads.
  void Prefetch(size_t i) const { __builtin_prefetch(distances_ + (uint64_t{i} * width_ >> 3)); }
  bool IsAscending() const;

  static constexpr size_t kGroup = 64;

 private:
  const char* firsts_ = nullptr;
  const char* distances_ = nullptr;
  size_t size_ = 0;
  uint64_t mask_ = 0;
  uint32_t width_ = 0;
};

}  // namespace gannet::segment
