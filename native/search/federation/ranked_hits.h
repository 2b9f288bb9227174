// The hits of several queries in one order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_set>
#include <utility>
#include <vector>

#include "search/federation/federation.h"
#include "search/pins.h"
#include "search/ranking/rank.h"
#include "search/ranking/score_key.h"

namespace gannet::search {

// A hit of the merged list.
struct RankedHit {
  uint32_t query;
  Hit hit;
  const ScoreKey* key;                  // null for a pin
  const PinnedDocument* pin = nullptr;  // null: a ranked hit
};

// Negative: a comes first; 0: equal. Compares keys, then the numbers of the queries.
inline int CompareRanked(const RankedHit& a, const RankedHit& b) {
  const int order = CompareScores(*a.key, *b.key);
  return order != 0 ? order : a.query < b.query ? -1 : a.query > b.query;
}

// Returns the hits of several sources in order; of equal hits, that of the earlier source comes
// first.
// Source: has `Next()`, which returns an optional hit, in the order of `CompareRanked`.
template <typename Source>
class Merged {
 public:
  using Ranked = typename decltype(std::declval<Source&>().Next())::value_type;

  void Add(Source source) {
    sources_.push_back(std::move(source));
    Refill(sources_.size() - 1);
  }

  std::optional<Ranked> Next() {
    if (heads_.empty()) return std::nullopt;
    std::pop_heap(heads_.begin(), heads_.end(), Later);
    const Head best = heads_.back();
    heads_.pop_back();
    Refill(best.source);
    return best.hit;
  }

 private:
  struct Head {
    Ranked hit;
    size_t source;
  };
  static bool Later(const Head& a, const Head& b) {
    const int order = CompareRanked(b.hit, a.hit);
    return order != 0 ? order < 0 : b.source < a.source;
  }

  void Refill(size_t source) {
    const auto hit = sources_[source].Next();
    if (!hit) return;
    heads_.push_back({*hit, source});
    std::push_heap(heads_.begin(), heads_.end(), Later);
  }

  std::deque<Source> sources_;  // a deque: hits in heads_ point into it
  std::vector<Head> heads_;     // a heap, the best hit on top
};

// The hits of one query, in its order. Lifetime: borrows the hits; returned hits point into this
// object.
class QueryHits {
 public:
  QueryHits(const std::vector<Hit>& hits, double weight, uint32_t query)
      : hits_(&hits), weight_(weight), query_(query) {}

  std::optional<RankedHit> Next() {
    if (at_ == hits_->size()) return std::nullopt;
    const Hit& hit = (*hits_)[at_++];
    // The hits of a bucket share their details.
    if (keys_.empty() || hit.detail != last_) keys_.push_back(ScoreKey::Of(hit.detail, weight_));
    last_ = hit.detail;
    return RankedHit{query_, hit, &keys_.back()};
  }

 private:
  const std::vector<Hit>* hits_;
  double weight_;
  uint32_t query_;
  size_t at_ = 0;
  const Detail* last_ = nullptr;
  std::deque<ScoreKey> keys_;
};

// The hits of all queries on one index, each document once.
class IndexHits {
 public:
  void Add(QueryHits hits) {
    merged_.Add(std::move(hits));
    ++queries_;
  }

  std::optional<RankedHit> Next() {
    for (;;) {
      const auto hit = merged_.Next();
      if (!hit || queries_ == 1 || seen_.insert(hit->hit.docid).second) return hit;
    }
  }

 private:
  Merged<QueryHits> merged_;
  size_t queries_ = 0;
  std::unordered_set<DocId> seen_;
};

}  // namespace gannet::search
