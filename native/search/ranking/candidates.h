// The token positions of the words of a query in the documents of a bucket, by node and class of
// expansions.
//
// A document is read once from its forward record, when the first rule needs positions, and kept for
// the rules that follow. The class serves documents that a forward scan does not (forward_scan.h).
//
// Threads: one owner. Lifetime: dies before the graph.
// Cost: 4 bytes per occurrence of a word of the query.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bitmap/docset.h"
#include "search/matching/token_positions.h"
#include "search/query/graph.h"

namespace gannet::search {

struct PhrasePositions {
  std::span<const TokenPosition> first;       // of the first word; empty if that is a stop word
  std::span<const TokenPosition> first_real;  // of the first word that is no stop word
};

// How a document matches a step of a path.
struct State {
  bool matches = false;
  std::vector<std::span<const TokenPosition>> positions;  // of words, in all fields
  std::vector<PhrasePositions> phrases;                   // of the phrases that the document holds
  // Of the last word of each phrase that stands for the step. The distance to the next step is
  // counted from that word, whether or not the document holds the whole phrase.
  std::vector<std::span<const TokenPosition>> ends;
};

class Candidates {
 public:
  explicit Candidates(Graph& graph) : graph_(graph) {}

  // Reads the documents that are not known yet. Words of all classes of expansions that were looked
  // up before are found.
  void LoadUnknown(const DocSet& documents);

  // Fills `state` with how the document matches a node.
  // typos       a class of expansions; -1: all classes
  // verbatim    only the word as typed counts
  // REQUIRES: the document is known.
  void StateOf(DocId docid, const Node& node, int typos, bool verbatim, State& state) const;
  std::span<const TokenPosition> WordPositions(DocId docid, WordNumber word) const;
  // The positions of all words of a class, in all fields.
  std::span<const TokenPosition> ClassPositions(DocId docid, uint16_t node, int typos) const;
  // Has the positions of `word` read as well, in documents that are not known yet.
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
