// A hybrid search: what words find and what vectors find, merged (docs/behaviour/vectors.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/ranked_list.h"
#include "search/ranking/rank.h"
#include "search/request.h"
#include "search/results/distinct.h"
#include "search/vectors/vector_scan.h"

namespace gannet::search {

// The embedder that a request names. Invalid, with `error_code`: there is none of that name.
// Lifetime: of the settings.
Result<const index::EmbedderSettings*> EmbedderOf(const index::Settings& settings,
                                                  const std::string& name,
                                                  const std::string& error_code);
// The scan for the vector of a semantic search. Null: it has no vector, for no hits are asked for.
// Invalid: invalid_search_embedder, invalid_vector_dimensions.
// REQUIRES: the request has `hybrid`.
Result<std::unique_ptr<VectorScan>> ScanOf(const index::Snapshot& snapshot,
                                           const SearchRequest& request, const Deadline& deadline);

// Whether totals are exact, which takes both halves.
bool CountsBothHalves(const SearchRequest& request);

// The two searches that a hybrid search is made of. Both keep their hits from the first one on.
struct HybridHalves {
  SearchRequest words, semantic;
};
HybridHalves HalvesOf(const SearchRequest& request, const index::Settings& settings);

// Whether the best `wanted` hits by words are so good that vectors need not be looked at.
bool WordsAreEnough(const std::vector<Hit>& words, double ratio, uint64_t wanted);

// The first hits of two lists as one, each document once.
struct MergedHits {
  std::vector<Hit> hits;
  std::vector<bool> by_vector;  // of each hit: whether it is from the list of vectors
  DocSet excluded;              // by distinct
};
// words, semantic  in their order, with details
// ratio            weight of vectors; that of words is the rest of 1
// wanted           hits, at most
// distinct         null: none
MergedHits MergeHits(const std::vector<Hit>& words, const std::vector<Hit>& semantic, double ratio,
                     uint64_t wanted, const Distinct* distinct);

// What a hybrid search has found.
struct HybridResult {
  std::vector<Hit> hits;  // of the window
  uint64_t semantic_hit_count = 0;
  bool uses_vector = false;
  DocSet candidates;
  uint64_t total = 0;
};
// window      places of the merged list that are wanted
// semantic    null: vectors were not looked at
// words_only  vectors add no hits
// Lifetime: hits borrow from both lists.
HybridResult MergeHalves(const SearchRequest& request, Window window, const RankedList& words,
                         const RankedList* semantic, bool words_only);

}  // namespace gannet::search
