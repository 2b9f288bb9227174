// The query graph: one node per term, and one per run of two or three concatenated words
// (docs/behaviour/query-analysis.md).
//
// A word in a script without spaces is a phrase of its characters. It is not concatenated with
// other words. A synonym of it, or of a run of terms that contains it, is a separate node.
//
// The graph describes how the query may be read. It knows nothing of the indexed documents; of the
// snapshot it uses only the settings. TermExpansion (term_expansion.h) finds the words and phrases
// that stand for a node, NodeDocuments (node_documents.h) the documents that match it.
// ranking/paths.h has the paths through the graph.
//
// Owner: the search (query_evaluator.h). Threads: immutable after construction.
// Cost: at most three nodes per term; the synonym table is built once per settings.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "index/snapshot.h"
#include "search/query/query.h"

namespace gannet::search {

class SynonymTable;

inline constexpr uint32_t kNgramSlotsMax = 3;  // number of terms that may be concatenated
// Classes of expansions: with 0, 1 and 2 typos, and words that contain the word.
inline constexpr int kClasses = 4;
inline constexpr int kPartsClass = 3;

using NodeNumber = uint16_t;  // index into Graph::nodes()

struct Node {
  Term term;         // an ngram has all its single words
  std::string text;  // concatenated; empty for phrases and if synonyms_only
  // Only synonyms of the node count. The node is a run of terms, some of them phrases of
  // characters; its words are all words of the run.
  bool synonyms_only = false;
  uint32_t first_slot = 0, last_slot = 0;
  uint32_t allowed_typos = 0;
  bool inside = false;  // words that contain it count

  uint32_t slots() const { return last_slot - first_slot + 1; }
  bool ngram() const { return last_slot > first_slot; }
};

// A node on a path, and which of its expansions count.
struct Step {
  NodeNumber node;
  int8_t typos;   // the class that the rule typo has chosen, which is its cost; -1: not yet chosen
  bool verbatim;  // restricted to the word as typed by the rule exactness
  int first_class() const { return typos < 0 ? 0 : typos; }
  int last_class() const { return typos < 0 ? kClasses - 1 : typos; }
  friend bool operator==(const Step&, const Step&) = default;
};

// The words of a term as the key of a synonym. REQUIRES: no word is a stop word.
std::string WordsKey(const Term& term);

class Graph {
 public:
  Graph(const index::Snapshot& snapshot, const ParsedQuery& query);

  // First the nodes of one term, in query order; then the others.
  const std::vector<Node>& nodes() const { return nodes_; }
  const Node& operator[](NodeNumber node) const { return nodes_[node]; }
  const Node& NodeOf(const Step& step) const { return nodes_[step.node]; }
  const SynonymTable& synonyms() const { return *synonyms_; }

 private:
  std::shared_ptr<const SynonymTable> synonyms_;  // looked up once per search, under a lock
  std::vector<Node> nodes_;
};

}  // namespace gannet::search
