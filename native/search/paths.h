// The paths through the query graph: the ways to read a query as nodes that follow each other, each leaving some of
// its words out or none (docs/behaviour/query-analysis.md, ranking.md).
//
// A slot is the place of a term in the query. Which slots may be left out, and in which order, is the matching strategy.
//
// Threads: pure functions but for what the graph looks up.
#pragma once

#include <cstdint>
#include <vector>

#include "bitmap/docset.h"
#include "search/graph.h"
#include "search/query.h"
#include "search/rules.h"

namespace gannet::search {

using Path = std::vector<Step>;

// Phrases that stand for words of a path (Graph::ForEachPhrase), by step. They live as long as the graph.
using PathPhrases = std::vector<std::vector<const Phrase*>>;

struct PathStages {
  std::vector<std::vector<Path>> paths;  // by how many slots are left out, in visiting order
  uint32_t max_matching_words = 1;       // what the rank of the rule words counts down from
};

PathStages MakeStages(Graph& graph, const ParsedQuery& query, MatchingStrategy strategy);

// Documents of `within` (null: all live ones) that match every step of a path, by expansions of its class. REQUIRES: no step
// is verbatim, and there is one.
DocSet PathDocuments(Graph& graph, const Path& path, const DocSet* within);

}  // namespace gannet::search
