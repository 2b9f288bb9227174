// The query graph: one node per term, and per run of two or three words glued together
// (docs/behaviour/query-analysis.md).
//
// A word in a script without spaces is a phrase of its characters. It is not glued to other words.
// A synonym of it, or of a run of terms that contains it, is a node of its own beside the phrase.
//
// Holds how the query may be read, and nothing of what is indexed: of the snapshot only its
// settings count. What stands for a node is TermExpansion (term_expansion.h), which documents match
// it NodeDocuments (node_documents.h). The ways through the graph are ranking/paths.h.
//
// Owner: the search (query_evaluator.h). Threads: immutable after construction.
// Cost: three nodes per term at most; the table of synonyms is made once per settings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "index/snapshot.h"
#include "search/query/query.h"

namespace gannet::search {

inline constexpr uint32_t kNgramSlotsMax = 3;  // terms that are glued together
inline constexpr int kTypoClasses = 3;         // expansions with 0, 1 and 2 typos

using NodeNumber = uint16_t;  // of Graph::nodes()

struct Node {
  Term term;                   // words of an ngram are its single words
  std::string text;            // glued; empty for phrases and where only synonyms count
  bool synonyms_only = false;  // for a run of terms of which some are phrases of characters; its
                               // words are all of these
  uint32_t first_slot = 0, last_slot = 0;
  uint32_t allowed_typos = 0;

  uint32_t slots() const { return last_slot - first_slot + 1; }
  bool ngram() const { return last_slot > first_slot; }
};

// A node on a path: which of its expansions count.
struct Step {
  NodeNumber node;
  int8_t typos;   // class chosen by the rule typo, -1 before
  bool verbatim;  // narrowed to the word as typed by exactness
  int first_class() const { return typos < 0 ? 0 : typos; }
  int last_class() const { return typos < 0 ? kTypoClasses - 1 : typos; }
  friend bool operator==(const Step&, const Step&) = default;
};

// The words of a term as the key of a synonym. REQUIRES: none of them is a stop word.
std::string WordsKey(const Term& term);

class Graph {
 public:
  Graph(const index::Snapshot& snapshot, const ParsedQuery& query);

  // Nodes of one term, in the order of the query; then the others.
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& operator[](NodeNumber node) const { return nodes_[node]; }
  const Node& NodeOf(const Step& step) const { return nodes_[step.node]; }

 private:
  std::vector<Node> nodes_;
};

}  // namespace gannet::search
