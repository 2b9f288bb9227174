// Tests the words of a forward record against those that a query searches for.
//
// A role is what a word of the index means to the query: an expansion of some node, a word of some
// phrase. Ordinals are unpacked and tested several at a time: against a few values and ranges, or,
// if there are many, against a bitset over the dictionary.
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

// A set of ordinals to test words against. Call Add, then Seal, then read.
class OrdinalSet {
 public:
  static constexpr size_t kBlock = 64;

  explicit OrdinalSet(uint32_t word_count) : word_count_(word_count) {}
  void Add(Ordinal begin, Ordinal end);
  // Sufficient before Has().
  void Order() { segment::Unite(ranges); }
  void Seal();

  // Bit i is set if the i-th packed ordinal is in the set. Unpacks all ordinals into `ordinals`.
  // count: at most kBlock. Reads up to 25 bytes after the packed ordinals, and ignores them.
  uint64_t Match(const char* data, uint64_t bit, uint32_t count, uint32_t width,
                 Ordinal* ordinals) const {
    return match_(*this, data, bit, count, width, ordinals);
  }
  bool Has(Ordinal ordinal) const;  // REQUIRES: Order or Seal

  // Few ranges are compared one by one. Public for the kernels.
  static constexpr size_t kRangesMax = 6;
  std::vector<segment::WordRange> ranges;  // ascending, disjoint
  std::vector<uint32_t> bits;              // empty if there are few ranges

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

// The number of role ranges that MatchRoles handles in one pass.
inline constexpr size_t kRoleRangesMax = 6;

// Sets bit i % 64 of masks[role * stride + i / 64] if word i of the record is in a range of the
// role. Clears the other bits of these roles; does not touch other roles. Reads up to 25 bytes
// after the words, and ignores them.
// REQUIRES: at most kRoleRangesMax ranges; words.bit is 0.
void MatchRoles(std::span<const RoleRange> ranges, const segment::PackedOrdinals& words,
                uint64_t* masks, size_t stride);

}  // namespace gannet::search
