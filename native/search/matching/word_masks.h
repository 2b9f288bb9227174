// Where the words of a query occur in one document, as bitmasks: bit i of a role is set if word i
// of the forward record has that role. Ranking by proximity needs distances of up to three, and the
// occurrence nearest to a given one: shifts of these masks compute both without a step per
// occurrence.
//
// The words of a record are stored field after field. Within a run, positions increase by one from
// word to word; a run ends at the end of the field, and where positions are skipped.
//
// Threads: one owner. Lifetime: the record must outlive its use here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "search/matching/word_roles.h"
#include "segment/text.h"

namespace gannet::search {

class WordMasks {
 public:
  // Longer distances are not distinguished.
  static constexpr uint32_t kDistanceMax = 3;
  static constexpr uint32_t kFar = kDistanceMax + 1;
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Run {
    uint32_t begin, end;  // words [begin, end), not empty
    FieldId field;
    uint32_t position;  // of word `begin`
  };

  // roles: number of roles.
  WordMasks(const segment::TextReader& text, size_t roles);
  void Add(Role role, Ordinal ordinal) { AddRange(role, ordinal, ordinal + 1); }
  void AddRange(Role role, Ordinal begin, Ordinal end);
  // Call it once, after the last Add.
  void Seal();

  // Reads a record; the functions below are about it. Returns false if it is damaged; it then has
  // no words. Damage in the part with the positions is found later: then there are no runs. Either
  // way the file is marked as damaged.
  bool Read(std::string_view record);
  // The smallest distance from a word of `left` to a word of `right` after it in the same field: 1
  // to kDistanceMax, else kFar.
  uint32_t Distance(Role left, Role right);
  // Whether accept(FieldId, uint32_t begin, uint32_t end) returns true for the words [begin, end)
  // of some field. Stops at the first.
  template <typename Accept>
  bool AnyField(Accept&& accept);
  // Number of words.
  uint32_t size() const { return document_.words.count; }
  // All words, in order.
  std::span<const Run> runs();
  // The first, or last, word of the role in [begin, end); kNone if there is none.
  uint32_t First(Role role, uint32_t begin, uint32_t end) const;
  uint32_t Last(Role role, uint32_t begin, uint32_t end) const;

 private:
  static constexpr uint32_t kBits = 64;
  // Bitmasks: words that start a run, words after one skipped position, words after two.
  static constexpr size_t kStarts = 3;

  void ReadRuns();
  void Refuse();
  const uint64_t* MaskOf(Role role) const { return masks_.data() + size_t{role} * blocks_max_; }

  const segment::TextReader& text_;
  std::vector<OrdinalSet> sets_;  // by role
  std::vector<bool> used_;        // by role: whether anything was added
  std::vector<RoleRange> few_;    // of the roles that are matched together
  std::vector<Role> many_;  // the other roles: a word of any of them is found first, then its role
  OrdinalSet any_of_many_;  // the union of many_, if it has several roles
  segment::ForwardDocument document_;
  size_t blocks_ = 0, blocks_max_ = 0;
  std::vector<uint64_t> masks_;  // by role, blocks_max_ each
  bool runs_read_ = false;
  size_t run_count_ = 0;
  std::vector<Run> runs_;         // sized for the largest number of words so far
  std::vector<uint64_t> starts_;  // kStarts masks per block, adjacent
};

template <typename Accept>
bool WordMasks::AnyField(Accept&& accept) {
  const std::span<const Run> all = runs();
  for (size_t i = 0; i < all.size();) {
    const Run& first = all[i];
    while (i < all.size() && all[i].field == first.field) ++i;
    if (accept(first.field, first.begin, all[i - 1].end)) return true;
  }
  return false;
}

}  // namespace gannet::search
