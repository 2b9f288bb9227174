// Where the words of a query stand in one document, as bits: bit i of a role says that word i of
// the forward record has it. Ranking by nearness asks for distances of up to three and for the
// place that is nearest to a given one: shifts of these bits tell both without a step per
// occurrence.
//
// The words of a record lie field after field. Within a run of them positions go up by one from
// word to word; a run ends with the field, and where positions are left out.
//
// Threads: one owner. Lifetime: the record that was read must stay.
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
  // Longer distances are not told apart.
  static constexpr uint32_t kDistanceMax = 3;
  static constexpr uint32_t kFar = kDistanceMax + 1;
  static constexpr uint32_t kNone = ~uint32_t{0};

  struct Run {
    uint32_t begin, end;  // words [begin, end), not empty
    FieldId field;
    uint32_t position;  // of word `begin`
  };

  // roles: how many there are.
  WordMasks(const segment::TextReader& text, size_t roles);
  void Add(Role role, Ordinal ordinal) { AddRange(role, ordinal, ordinal + 1); }
  void AddRange(Role role, Ordinal begin, Ordinal end);
  // Call once, when everything was added.
  void Seal();

  // What is asked below is asked of the record read last. False: it is damaged, and holds no words.
  // Damage of what tells where the words stand is found later: then there are no runs. Either way
  // the file is marked.
  bool Read(std::string_view record);
  // Smallest distance from a word of `left` to one of `right` behind it, in one field: 1 to
  // kDistanceMax, else kFar.
  uint32_t Distance(Role left, Role right);
  // Whether accept(FieldId, uint32_t begin, uint32_t end) holds for the words [begin, end) of a
  // field. Asks no further then.
  template <typename Accept>
  bool AnyField(Accept&& accept);
  // Number of words.
  uint32_t size() const { return document_.words.count; }
  // All words, in order.
  std::span<const Run> runs();
  // The first word of the role in [begin, end), the last one; kNone.
  uint32_t First(Role role, uint32_t begin, uint32_t end) const;
  uint32_t Last(Role role, uint32_t begin, uint32_t end) const;

 private:
  static constexpr uint32_t kBits = 64;
  static constexpr size_t kStarts =
      3;  // words that begin a run; those behind one position left out; behind two

  void ReadRuns();
  void Refuse();
  const uint64_t* MaskOf(Role role) const { return masks_.data() + size_t{role} * blocks_max_; }

  const segment::TextReader& text_;
  std::vector<OrdinalSet> sets_;  // by role
  std::vector<bool> used_;        // by role: anything was added
  std::vector<RoleRange> few_;    // of roles that are matched together
  std::vector<Role> many_;  // the others: a word of any of them is looked for, then told which
  OrdinalSet any_of_many_;  // where they are several
  segment::ForwardDocument document_;
  size_t blocks_ = 0, blocks_max_ = 0;
  std::vector<uint64_t> masks_;  // by role, blocks_max_ each
  bool runs_read_ = false;
  size_t run_count_ = 0;
  std::vector<Run> runs_;         // room for as many as there ever were words
  std::vector<uint64_t> starts_;  // kStarts for each block, those of a block side by side
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
