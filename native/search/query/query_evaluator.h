// The parts that evaluate a query against one snapshot. Each part knows only the parts before it:
//
//   words       IndexWords      which words of the index the search refers to
//   postings    Postings        the documents of words
//   phrases     PhraseMatcher   the documents of phrases
//   graph       Graph           how the query may be read
//   expansion   TermExpansion   the words and phrases that stand for a node of the graph
//   documents   NodeDocuments   the documents of a node
//
// The graph knows only the parsed query and the settings.
//
// Owner: the search. Threads: one owner. Lifetime: must be destroyed before the snapshot and the
// scope.
#pragma once

#include "search/matching/field_scope.h"
#include "search/matching/index_words.h"
#include "search/matching/phrase_matcher.h"
#include "search/matching/postings.h"
#include "search/query/graph.h"
#include "search/query/node_documents.h"
#include "search/query/query.h"
#include "search/query/term_expansion.h"

namespace gannet::search {

struct QueryEvaluator {
  QueryEvaluator(const index::Snapshot& of_snapshot, const FieldScope& of_scope,
                 const ParsedQuery& query)
      : snapshot(of_snapshot),
        scope(of_scope),
        words(snapshot, scope),
        postings(snapshot, scope, words),
        phrases(snapshot, scope, words, postings),
        graph(snapshot, query),
        expansion(snapshot, scope, graph, words, postings, phrases),
        documents(snapshot, scope, expansion, postings, phrases) {}
  QueryEvaluator(const QueryEvaluator&) = delete;
  QueryEvaluator& operator=(const QueryEvaluator&) = delete;

  const index::Snapshot& snapshot;
  const FieldScope& scope;
  IndexWords words;
  Postings postings;
  PhraseMatcher phrases;
  Graph graph;
  TermExpansion expansion;
  NodeDocuments documents;
};

}  // namespace gannet::search
