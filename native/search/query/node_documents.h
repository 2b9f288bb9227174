// Evaluates the query with posting lists: finds the live documents that match a node of the query
// graph by the words and phrases that stand for it.
//
// Caches the documents of each class, and the result for the set of documents requested last.
//
// Owner: the search (query_evaluator.h). Threads: one owner; idle threads help with large unions.
// Lifetime: must be destroyed before everything passed to the constructor. Returned references are
// valid as long as the object.
// Cost: looks up the expansions that are needed (term_expansion.h), then takes the union of their
// lists (matching/postings.h) and phrases (matching/phrase_matcher.h). A repeated request costs
// nothing, or an intersection.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/matching/field_scope.h"
#include "search/matching/phrase_matcher.h"
#include "search/matching/postings.h"
#include "search/query/graph.h"
#include "search/query/term_expansion.h"

namespace gannet::search {

class NodeDocuments {
 public:
  NodeDocuments(const index::Snapshot& snapshot, const FieldScope& scope, TermExpansion& expansion,
                const Postings& postings, const PhraseMatcher& phrases);

  const Graph& graph() const { return expansion_.graph(); }
  // The documents that match a node by expansions of one class, or of any.
  const DocSet& Of(NodeNumber node, int typo_class);
  const DocSet& Of(NodeNumber node);
  // The documents of `within` that match a node; cheaper than Of() for few.
  // typo_class    a class; -1: any
  DocSet Within(NodeNumber node, int typo_class, const DocSet& within);
  // REQUIRES: if the step is verbatim, class 0 was looked up.
  DocSet Within(const Step& step, const DocSet& within);
  // An estimate that grows with the number of documents that match the node by expansions of this
  // class (-1: any).
  uint64_t Frequency(NodeNumber node, int typo_class);
  // A lower bound for the number of documents that match the node without a typo.
  uint64_t DocumentsMin(NodeNumber node);

  // Caches `found` as the documents of `within` (null: all documents) that match by the class.
  void Keep(NodeNumber node, int typo_class, const DocSet* within, DocSet found);
  // Whether the matching documents of `within` (null: all documents) are cached.
  bool Keeps(NodeNumber node, int typo_class, const DocSet* within) const;

 private:
  // Cached results for one class.
  struct Found {
    std::optional<DocSet> documents;
    // The documents of `within` that match, for the last request.
    struct Subset {
      DocSet within, documents;
    };
    std::optional<Subset> last;
    std::optional<uint64_t> frequency;
    bool Has(const DocSet* within) const {
      return documents || (within != nullptr && last && within->IsSubsetOf(last->within));
    }
  };
  struct OfNode {
    std::array<Found, kClasses> classes;
    std::optional<DocSet> any;  // union of the classes
  };

  DocSet Find(NodeNumber node, int typo_class, const DocSet* within);

  const index::Snapshot& snapshot_;
  const FieldScope& scope_;
  TermExpansion& expansion_;
  const Postings& postings_;
  const PhraseMatcher& phrases_;
  std::vector<OfNode> nodes_;  // by node
};

}  // namespace gannet::search
