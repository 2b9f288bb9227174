// The paths through the query graph: the ways to read a query as a sequence of nodes
// (docs/behaviour/query-analysis.md, ranking.md).
//
// A path may leave out slots of the query. The matching strategy decides which, and in which order.
//
// Threads: one owner, because documents of nodes are looked up.
#pragma once

#include <cstdint>
#include <vector>

#include "bitmap/docset.h"
#include "search/query/node_documents.h"
#include "search/query/query.h"

namespace gannet::search {

using Path = std::vector<Step>;

// Phrases that stand for words of a path (TermExpansion::ForEachPhrase), by step. Lifetime: that of
// the expansion.
using PathPhrases = std::vector<std::vector<const Phrase*>>;

struct PathStages {
  std::vector<std::vector<Path>> paths;  // by number of omitted slots; in visiting order
  uint32_t max_matching_words = 1;       // the highest rank of the rule words
};

// All paths of the query.
PathStages MakeStages(NodeDocuments& node_documents, const ParsedQuery& query,
                      MatchingStrategy strategy);

// Documents of `allowed` (null: all live ones) that match some path.
DocSet StagesDocuments(NodeDocuments& node_documents, const PathStages& stages,
                       const DocSet* allowed);

// Documents of `within` (null: all live ones) that match every step of the path.
// REQUIRES: the path has a step, and no step is verbatim.
DocSet PathDocuments(NodeDocuments& node_documents, const Path& path, const DocSet* within);

// The documents of `documents` that match every step of the path, verbatim ones too.
DocSet DocumentsAlong(NodeDocuments& node_documents, const Path& path, DocSet documents);

}  // namespace gannet::search
