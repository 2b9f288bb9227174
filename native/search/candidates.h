// What the documents of a bucket offer to a query: for each, where the expansions of every node stand.
//
// Read once per document from its forward record, when the first rule needs positions; kept for the rules
// after it. About 4 bytes per occurrence.
//
// Threads: one owner. Lifetime: dies before the graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bitmap/docset.h"
#include "search/graph.h"
#include "search/token_positions.h"

namespace gannet::search {

struct PhrasePositions {
  std::span<const TokenPosition> first;        // of its first word; empty for a stop word
  std::span<const TokenPosition> first_real;   // of its first word that is not a stop word
};

// How a document matches a step of a path.
struct State {
  bool matches = false;
  std::vector<std::span<const TokenPosition>> positions;  // of words, in all fields
  std::vector<PhrasePositions> phrases;           // those that the document holds
  // Of the last words of all phrases that stand for the step: what follows a synonym or split word is asked of its last
  // word alone, whether the document holds the phrase or matches by something else.
  std::vector<std::span<const TokenPosition>> ends;
};

class Candidates {
 public:
  explicit Candidates(Graph& graph) : graph_(graph) {}

  // Makes the occurrences of these documents known, as far as they are not. Expansions of all classes that were looked up before
  // count.
  void LoadUnknown(const DocSet& documents);

  // Fills `state`. typos: a class, or -1 for all of them. verbatim: only the word as typed.
  void StateOf(DocId docid, const Node& node, int typos, bool verbatim, State& state) const;
  std::span<const TokenPosition> WordPositions(DocId docid, WordNumber word) const;
  // Of all words of a class, in all fields.
  std::span<const TokenPosition> ClassPositions(DocId docid, uint16_t node, int typos) const;
  // Documents loaded from here on know where this word stands.
  void Follow(WordNumber word) { followed_.push_back(word); }
  Graph& graph() const { return graph_; }

 private:
  struct Entry {
    Role role;
    uint32_t begin, end;  // of positions_
  };
  struct Known {
    DocId docid;
    uint32_t begin, end;  // of entries_
  };
  void Load(const DocSet& documents);
  void AssignRoles();
  void LoadSegment(size_t segment, const DocSet& documents);
  int64_t Find(DocId docid) const;
  std::span<const TokenPosition> PositionsOf(const Known& known, Role role) const;

  Graph& graph_;
  // A role per node and class with words, then one per word that is looked at by itself.
  std::vector<std::array<Role, kTypoClasses>> class_roles_;  // by node
  std::vector<Role> word_roles_;                             // by word number
  std::vector<WordNumber> followed_;
  Role role_count_ = 0;
  std::vector<TokenPosition> positions_;
  std::vector<Entry> entries_;
  std::vector<Known> known_;  // ascending by docid after each Load
};

}  // namespace gannet::search
