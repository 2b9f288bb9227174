// Finds the token positions of the words of a query in one document, from its forward record.
//
// A role is what a word of the index is to the query: an expansion of some node, a word of some
// phrase. A RoleMap says which ordinals of one segment have which roles. A scan reads a record once
// and reports each occurrence. Ordinals are unpacked and tested several at a time: against a few
// values and ranges, or against a bitset over the dictionary where there are many.
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

// field * 65536 + word position. Sorted token positions are sorted by field, then by word position.
using TokenPosition = uint32_t;
inline constexpr TokenPosition MakeTokenPosition(FieldId field, uint32_t position) {
  return TokenPosition{field} << 16 | (position & 0xffff);
}
inline constexpr FieldId FieldOf(TokenPosition position) { return static_cast<FieldId>(position >> 16); }
inline constexpr uint32_t PositionOf(TokenPosition position) { return position & 0xffff; }

// A set of ordinals that words are tested against. Add, then Seal, then read.
class OrdinalSet {
 public:
  static constexpr size_t kBlock = 64;

  explicit OrdinalSet(uint32_t word_count) : word_count_(word_count) {}
  void Add(Ordinal begin, Ordinal end);
  void Seal();

  // Bit i is set when ordinal i of the packed ones is in the set; `ordinals` gets them all.
  // count: at most kBlock. Bytes up to 25 behind the packed ones are read, and ignored.
  uint64_t Match(const char* data, uint64_t bit, uint32_t count, uint32_t width, Ordinal* ordinals) const {
    return match_(*this, data, bit, count, width, ordinals);
  }
  bool Has(Ordinal ordinal) const;

  // Few ranges are compared one by one. Public for the kernels.
  static constexpr size_t kRangesMax = 6;
  std::vector<segment::WordRange> ranges;  // ascending, apart
  std::vector<uint32_t> bits;              // empty while there are few ranges

 private:
  using Kernel = uint64_t (*)(const OrdinalSet&, const char*, uint64_t, uint32_t, uint32_t, Ordinal*);
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

// For words of a record, bit i % 64 of masks[role * stride + i / 64]: whether word i has the role of one of the ranges.
// Other bits of these roles are cleared, other roles are left alone. Bytes up to 25 behind the words are read, and ignored.
// REQUIRES: at most kRoleRangesMax ranges; words.bit is 0.
void MatchRoles(std::span<const RoleRange> ranges, const segment::PackedOrdinals& words, uint64_t* masks, size_t stride);

class RoleMap {
 public:
  explicit RoleMap(const segment::TextReader& text) : text_(text), set_(text.terms().size()) {}

  void Add(Ordinal ordinal, Role role);
  void AddRange(Ordinal begin, Ordinal end, Role role);
  // Call once, when everything was added.
  void Seal() { set_.Seal(); }

  // Calls sink(Role, TokenPosition) for each occurrence of a word with a role, field by field, in order.
  template <typename Sink>
  void Scan(std::string_view record, Sink&& sink) const {
    segment::ForwardDocument document;
    if (!text_.OpenRecord(record, document)) return;
    segment::PositionCursor cursor(document);
    const segment::PackedOrdinals& words = document.words;
    Ordinal ordinals[OrdinalSet::kBlock];
    for (uint32_t at = 0; at < words.count; at += OrdinalSet::kBlock) {
      const uint32_t count = std::min<uint32_t>(OrdinalSet::kBlock, words.count - at);
      uint64_t found = set_.Match(words.data, uint64_t{at} * words.width, count, words.width, ordinals);
      while (found != 0) {
        const auto i = static_cast<uint32_t>(__builtin_ctzll(found));
        found &= found - 1;
        const auto [field, word_position] = cursor.At(at + i);
        const TokenPosition position = MakeTokenPosition(field, word_position);
        Report(ordinals[i], [&](Role role) { sink(role, position); });
      }
    }
  }

 private:
  struct Entry {
    Ordinal ordinal;
    Role role;
  };
  template <typename Sink>
  void Report(Ordinal ordinal, Sink&& sink) const {
    for (const RoleRange& range : ranges_) {
      if (ordinal >= range.begin && ordinal < range.end) sink(range.role);
    }
    if (entries_.empty()) return;
    for (uint32_t at = heads_[ordinal & (heads_.size() - 1)]; at != 0; at = next_[at - 1]) {
      if (entries_[at - 1].ordinal == ordinal) sink(entries_[at - 1].role);
    }
  }

  const segment::TextReader& text_;
  OrdinalSet set_;
  std::vector<Entry> entries_;
  std::vector<uint32_t> heads_ = std::vector<uint32_t>(64), next_;  // chains by ordinal
  std::vector<RoleRange> ranges_;
};

}  // namespace gannet::search
