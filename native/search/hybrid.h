// A hybrid search: merges the hits found by words with the hits found by vectors
// (docs/behaviour/vectors.md).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/status.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/fuse_by_rank.h"
#include "search/merged_hits.h"
#include "search/ranked_list.h"
#include "search/ranking/rank.h"
#include "search/request.h"
#include "search/results/distinct.h"
#include "search/vectors/vector_scan.h"

namespace gannet::search {

// The embedder that a request names. Invalid, with `error_code`: no embedder has that name.
// Lifetime: that of the settings.
Result<const index::EmbedderSettings*> EmbedderOf(const index::Settings& settings,
                                                  const std::string& name,
                                                  const std::string& error_code);
// The scan for the vector of a semantic search. Null if the request has no vector because it wants
// no hits.
// Invalid: invalid_search_embedder, invalid_vector_dimensions.
// REQUIRES: the request has `hybrid`.
Result<std::unique_ptr<VectorScan>> ScanOf(const index::Snapshot& snapshot,
                                           const SearchRequest& request, const Deadline& deadline);

// Gives a search by vectors the minimum score of the setting `semanticCutoff` unless it has one.
void ApplyCutoff(const index::Snapshot& snapshot, SearchRequest& request);

// Whether the request needs exact totals, which takes a complete search of both halves.
bool CountsBothHalves(const SearchRequest& request);

// The two searches of a hybrid search. Both keep all hits from the first one.
struct HybridHalves {
  SearchRequest words, semantic;
};
HybridHalves HalvesOf(const SearchRequest& request, const index::Settings& settings);

// Whether words fill a page of `wanted` hits with hits that are good enough to need none by
// vectors. The first page decides for all pages, so that each hit is on exactly one.
bool WordsAreEnough(const std::vector<Hit>& words, double ratio, uint64_t wanted);

// words, semantic  hits in ranked order, with details
// ratio            weight of vectors, 0 to 1; words weigh 1 - ratio
// distinct         null: none
MergedHits MergeHits(const std::vector<Hit>& words, const std::vector<Hit>& semantic, double ratio,
                     MergeEnd end, const Distinct* distinct);

// The number of hits of each half that the first `end` merged hits depend on, unless distinct drops
// several of a half because of one (`MergedHits::cut`). All hits if every document is counted.
uint64_t DepthOf(const SearchRequest& request, const index::Snapshot& snapshot, uint64_t end);

// Keeps the hits of the window of a list.
void CutTo(Window window, std::vector<Hit>& hits);

// The result of a hybrid search.
struct HybridResult {
  std::vector<Hit> hits;  // hits of the window
  uint64_t semantic_hit_count = 0;
  bool uses_vector = false;
  bool lacks_vector = false;  // the embedder should have made a vector, but there was none
  DocSet candidates;
  uint64_t total = 0;
  std::deque<FusedDetail> fused;  // details of hits, with Fusion::kRrf
  bool cut = false;               // the halves must be ranked deeper
};
// window      the wanted part of the merged list
// semantic    null: vectors were not searched
// depth       number of hits to which the halves were ranked
// enough      words are enough, vectors add no hits
// Lifetime: hits borrow from both lists.
HybridResult MergeHalves(const SearchRequest& request, Window window, const RankedList& words,
                         const RankedList* semantic, uint64_t depth, bool enough);

}  // namespace gannet::search
