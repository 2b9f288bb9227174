#include "segment/packed_offsets.h"

#include <algorithm>
#include <bit>
#include <cassert>

namespace gannet::segment {
namespace {

constexpr size_t kHeaderBytes = 16;
// With this width a distance fits a word together with the preceding bits of its first byte.
constexpr uint64_t kWidthMax = 56;

}  // namespace

std::string PackOffsets(std::span<const uint64_t> offsets) {
  std::string out;
  if (offsets.empty()) return out;
  constexpr size_t kGroup = PackedOffsets::kGroup;
  uint64_t greatest = 0;
  for (size_t i = 0; i < offsets.size(); ++i)
    greatest = std::max(greatest, offsets[i] - offsets[i / kGroup * kGroup]);
  const auto width = static_cast<uint64_t>(std::bit_width(greatest));
  assert(width <= kWidthMax);
  PutFixed<uint64_t>(out, offsets.size());
  PutFixed<uint64_t>(out, width);
  for (size_t i = 0; i < offsets.size(); i += kGroup) PutFixed<uint64_t>(out, offsets[i]);
  const size_t distances = out.size();
  out.resize(distances + (offsets.size() * width + 7) / 8 + sizeof(uint64_t));
  for (size_t i = 0; i < offsets.size(); ++i) {
    const uint64_t bit = i * width;
    char* at = out.data() + distances + (bit >> 3);
    const uint64_t word = LoadFixed<uint64_t>(at) | (offsets[i] - offsets[i / kGroup * kGroup])
                                                        << (bit & 7);
    std::memcpy(at, &word, sizeof(word));
  }
  return out;
}

Result<PackedOffsets> PackedOffsets::Open(std::string_view bytes) {
  PackedOffsets offsets;
  if (bytes.empty()) return offsets;
  const Status damaged = Status::Corruption("packed offsets are damaged");
  if (bytes.size() < kHeaderBytes) return damaged;
  const auto count = LoadFixed<uint64_t>(bytes.data()),
             width = LoadFixed<uint64_t>(bytes.data() + 8);
  // With these limits the sizes below do not overflow.
  if (count == 0 || count / kGroup > bytes.size() || width > kWidthMax) return damaged;
  const uint64_t firsts = (count + kGroup - 1) / kGroup * sizeof(uint64_t);
  if (bytes.size() != kHeaderBytes + firsts + (count * width + 7) / 8 + sizeof(uint64_t))
    return damaged;
  offsets.firsts_ = bytes.data() + kHeaderBytes;
  offsets.distances_ = offsets.firsts_ + firsts;
  offsets.size_ = count;
  offsets.width_ = static_cast<uint32_t>(width);
  offsets.mask_ = (uint64_t{1} << width) - 1;
  return offsets;
}

Result<PackedOffsets> PackedOffsets::OpenAscending(std::string_view bytes) {
  GANNET_ASSIGN_OR_RETURN(const PackedOffsets offsets, Open(bytes));
  if (offsets.empty() || !offsets.IsAscending())
    return Status::Corruption("packed offsets are damaged");
  return offsets;
}

bool PackedOffsets::IsAscending() const {
  uint64_t last = 0;
  for (size_t i = 0; i < size_; ++i) {
    const uint64_t offset = (*this)[i];
    if (offset < last) return false;
    last = offset;
  }
  return true;
}

}  // namespace gannet::segment
