// One document during a forward scan, as rules see it: where the words of the steps of paths occur
// in it.
//
// Threads: one owner. Lifetime: one record, until the next is read.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/matching/word_masks.h"
#include "index/snapshot.h"
#include "search/matching/field_scope.h"
#include "search/query/term_expansion.h"
#include "search/ranking/paths.h"

namespace gannet::search {

inline constexpr Role kNoRole = 0xffff;

// A phrase that stands for a step.
struct ScannedPhrase {
  // Word `left` occurs at most `distance` positions before word `right`.
  struct Check {
    Role left, right;
    uint32_t distance;
  };
  std::vector<Role> words;  // distinct
  std::vector<Check> checks;
  // The first word, the first that is not a stop word, and the last. kNoRole: a stop word, or
  // absent from the segment.
  Role first = kNoRole, first_real = kNoRole, last = kNoRole;
  bool absent = false;  // the segment lacks a word
  bool held = false;    // by the document
};

struct ScannedStep {
  size_t number = 0;  // index among the steps of the scan
  const Step* step = nullptr;
  const Node* node = nullptr;
  const NodeExpansions* expansions = nullptr;  // expansions of the node
  Role words = kNoRole;                        // the words that stand for the step, without phrases
  Role as_typed = kNoRole;                     // the word as typed
  Role short_prefix = kNoRole;                 // the words of a short prefix
  // The parts of `words` that match in any searched field, in fields that allow typos, and in
  // fields that are found by parts of words.
  Role plain = kNoRole, tolerant = kNoRole, inside = kNoRole;
  std::vector<ScannedPhrase> phrases;
  bool matches = false;  // whether the document matches the step
};

class ScannedDocument {
 public:
  // steps    number of steps of the scan
  ScannedDocument(const index::Snapshot& snapshot, const FieldScope& scope, WordMasks& masks,
                  size_t steps)
      : snapshot_(snapshot), scope_(scope), masks_(masks), occurrences_(steps) {}

  // Call it when the masks have read the next record.
  void Next() {
    for (Occurrences& occurrences : occurrences_) occurrences.known = false;
  }

  WordMasks& masks() { return masks_; }
  // Whether a word of the role occurs in a field for which accept(FieldId) returns true; `all`: it
  // does for every field.
  template <typename Accept>
  bool Holds(Role role, bool all, Accept&& accept);
  bool Searched(Role role) {
    return Holds(role, scope_.all, [&](FieldId field) { return scope_.Searches(field); });
  }
  // The smallest distance from a word of `left` to a word of `right` after it; WordMasks::kFar if
  // there is none.
  uint32_t Distance(Role left, Role right) {
    return left == kNoRole || right == kNoRole ? WordMasks::kFar : masks_.Distance(left, right);
  }
  // Finds the phrases of the step that the document contains.
  void FindHeld(ScannedStep& step);
  // Whether the document matches the step. REQUIRES: FindHeld
  bool Matches(const ScannedStep& step);
  // A run in which a step occurs.
  struct Occurrence {
    const WordMasks::Run* run;
    Role role;
    uint32_t first;  // the first word of the role in the run
  };
  // All runs in which the step occurs: those of its words, and of the first word of each phrase
  // that the document contains. Computed once for all rules.
  std::span<const Occurrence> OccurrencesOf(const ScannedStep& step) {
    Occurrences& occurrences = occurrences_[step.number];
    if (!occurrences.known) FindOccurrences(step, occurrences);
    return occurrences.list;
  }

 private:
  struct Occurrences {
    bool known = false;
    std::vector<Occurrence> list;
  };

  void FindOccurrences(const ScannedStep& step, Occurrences& occurrences);

  const index::Snapshot& snapshot_;
  const FieldScope& scope_;
  WordMasks& masks_;
  std::vector<Occurrences> occurrences_;  // by step
};

template <typename Accept>
bool ScannedDocument::Holds(Role role, bool all, Accept&& accept) {
  if (role == kNoRole) return false;
  const uint32_t first = masks_.First(role, 0, masks_.size());
  if (all || first == WordMasks::kNone) return first != WordMasks::kNone;
  return masks_.AnyField([&](FieldId field, uint32_t begin, uint32_t end) {
    return end > first && accept(field) && masks_.First(role, begin, end) != WordMasks::kNone;
  });
}

}  // namespace gannet::search
