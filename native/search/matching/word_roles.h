// Tests the words of a forward record against what a query looks for.
//
// A role is what a word of the index is to the query: an expansion of some node, a word of some
// phrase. Ordinals are unpacked and tested several at a time: against a few values and ranges, or
// against a bitset over the dictionary where there are many.
//
// Threads: after Seal, reading is const and any thread may do it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "segment/text.h"

namespace gannet::search {

using Role = uint16_t;

// A set of ordinals that words are tested against. Add, then Seal, then read.
class OrdinalSet {
 public:
  static constexpr size_t kBlock = 64;

  explicit OrdinalSet(uint32_t word_count) : word_count_(word_count) {}
  void Add(Ordinal begin, Ordinal end);
  // Enough for Has().
  void Order() { segment::Unite(ranges); }
  void Seal();

  // Bit i is set when ordinal i of the packed ones is in the set; `ordinals` gets them all.
  // count: at most kBlock. Bytes up to 25 behind the packed ones are read, and ignored.
  uint64_t Match(const char* data, uint64_t bit, uint32_t count, uint32_t width,
                 Ordinal* ordinals) const {
    return match_(*this, data, bit, count, width, ordinals);
  }
  bool Has(Ordinal ordinal) const;  // REQUIRES: Order or Seal

  // Few ranges are compared one by one. Public for the kernels.
  static constexpr size_t kRangesMax = 6;
  std::vector<segment::WordRange> ranges;  // ascending, apart
  std::vector<uint32_t> bits;              // empty while there are few ranges

 private:
  using Kernel = uint64_t (*)(const OrdinalSet&, const char*, uint64_t, uint32_t, uint32_t,
                              Ordinal*);
  uint32_t word_count_;
  Kernel match_ = nullptr;
};

// Ordinals [begin, end) that have a role.
struct RoleRange {
  Ordinal begin, end;
  Role role;
};

// How many role ranges MatchRoles tells apart in one pass.
inline constexpr size_t kRoleRangesMax = 6;

// For words of a record, bit i % 64 of masks[role * stride + i / 64]: whether word i has the role
// of one of the ranges.
// Other bits of these roles are cleared, other roles are left alone. Bytes up to 25 behind the
// words are read, and ignored.
// REQUIRES: at most kRoleRangesMax ranges; words.bit is 0.
void MatchRoles(std::span<const RoleRange> ranges, const segment::PackedOrdinals& words,
                uint64_t* masks, size_t stride);

}  // namespace gannet::search
