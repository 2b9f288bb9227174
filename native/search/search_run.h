// A search that has been run: the source of the response.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/hybrid.h"
#include "search/ranked_list.h"
#include "search/ranking/score_details.h"
#include "search/request.h"

namespace gannet::search {

// Immutable except for Complete. Lifetime: hits borrow from the run.
class SearchRun {
 public:
  // window  the positions of the page; hits start there, or at the first position
  SearchRun(SearchRequest request, Window window, std::unique_ptr<RankedList> list)
      : request_(std::move(request)), window_(window), list_(std::move(list)) {}
  // A hybrid search. semantic: null if vectors were not searched. merged: nullopt if the words
  // alone are not good enough and the vector is not known yet.
  SearchRun(SearchRequest request, Window window, std::unique_ptr<RankedList> words,
            std::unique_ptr<RankedList> semantic, std::optional<HybridResult> merged)
      : request_(std::move(request)),
        window_(window),
        list_(std::move(words)),
        semantic_(std::move(semantic)),
        merged_(merged ? std::move(*merged) : HybridResult()),
        needs_vector_(!merged) {}

  // Ends the state `needs_vector`: stores the vector, if there is one, and the merged lists.
  void Complete(std::optional<std::vector<float>> vector, std::unique_ptr<RankedList> semantic,
                HybridResult merged) {
    request_.vector = std::move(vector);
    semantic_ = std::move(semantic);
    merged_ = std::move(merged);
    needs_vector_ = false;
  }

  // The same, with a run of the same search that has its vector.
  void Replace(SearchRun run) {
    run.counted_ = std::move(counted_);
    *this = std::move(run);
  }

  // Totals and facets count what this run counts: that of the first page.
  void CountAs(std::unique_ptr<SearchRun> run) { counted_ = std::move(run); }
  SearchRun* counted() { return counted_.get(); }

  // Shows these ranked hits of the run, in another order.
  void Show(std::vector<Hit> hits) {
    if (merged_) {
      merged_->semantic_hit_count = static_cast<uint64_t>(std::count_if(
          hits.begin(), hits.end(), [](const Hit& hit) { return HasVector(hit.detail); }));
    }
    shown_ = std::move(hits);
  }

  const SearchRequest& request() const { return request_; }
  const index::Snapshot& snapshot() const { return *list_->snapshot; }
  // The list that determines how hits are written; of a hybrid search the list by words.
  const RankedList& list() const { return *list_; }
  // What compared documents with the vector; null: no vector was used.
  const VectorScan* scan() const { return (semantic_ ? semantic_ : list_)->scan.get(); }
  const std::vector<Hit>& hits() const {
    if (shown_) return *shown_;
    return merged_ ? merged_->hits : list_->hits();
  }
  // Documents that count for totals and facets. REQUIRES: SearchRequest::needs_candidates
  const DocSet& candidates() const {
    if (counted_) return counted_->candidates();
    return merged_ ? merged_->candidates : list_->candidates;
  }
  // The number of candidates, capped.
  uint64_t total() const {
    if (counted_) return counted_->total();
    return merged_ ? merged_->total : list_->total;
  }
  // Whether this is a hybrid search whose words alone are not good enough and whose vector is not
  // known yet. There are no hits until AddVector.
  bool needs_vector() const { return needs_vector_; }
  // The number of hits found by vectors; nullopt for a search by words alone.
  std::optional<uint64_t> semantic_hit_count() const {
    if (needs_vector_ || request_.kind() == SearchKind::kWords) return std::nullopt;
    return merged_ ? merged_->semantic_hit_count : hits().size();
  }
  // Whether words had to suffice because the query could not be embedded.
  bool lacks_vector() const { return merged_ && merged_->lacks_vector; }
  // The vector that was used; null: none.
  const std::vector<float>* query_vector() const {
    const bool used = merged_ ? merged_->uses_vector
                              : request_.kind() == SearchKind::kSemantic && request_.vector;
    return used ? &*request_.vector : nullptr;
  }
  // The positions of the page, whatever hits are kept before it.
  Window window() const { return window_; }

 private:
  SearchRequest request_;
  Window window_;
  std::unique_ptr<RankedList> list_, semantic_;
  std::optional<HybridResult> merged_;     // the result of a hybrid search
  std::optional<std::vector<Hit>> shown_;  // usually none
  bool needs_vector_ = false;
  std::unique_ptr<SearchRun> counted_;  // usually null
};

}  // namespace gannet::search
