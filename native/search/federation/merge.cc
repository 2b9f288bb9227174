#include "search/federation/merge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/parallel_for.h"
#include "base/stop_point.h"
#include "search/federation/distinct_values.h"

namespace gannet::search {
namespace {

// The maximum number of hits after the page whose distinct values are sent to the merging server.
constexpr size_t kFurtherDistinctMax = 100'000;

IndexHits HitsOf(const SearchedIndex& index, const Federation& federation) {
  IndexHits hits;
  for (const uint32_t number : index.queries) {
    const FederatedQuery& query = federation.queries[number];
    hits.Add(QueryHits(query.run->hits(), query.weight, number));
  }
  return hits;
}

// Returns pins at their positions and ranked hits at the others. Pins that are left follow the last
// hit.
class HitsWithPins {
 public:
  HitsWithPins(const std::vector<RankedHit>& pins, Merged<IndexHits>& ranked)
      : pins_(pins), ranked_(ranked) {}

  // position  of the next hit, from 0
  std::optional<RankedHit> Next(uint64_t position) {
    const bool left = pin_ < pins_.size();
    if (left && pins_[pin_].pin->position <= position) return pins_[pin_++];
    if (const auto hit = ranked_.Next()) return hit;
    return left ? std::optional(pins_[pin_++]) : std::nullopt;
  }

 private:
  const std::vector<RankedHit>& pins_;
  Merged<IndexHits>& ranked_;
  size_t pin_ = 0;
};

}  // namespace

std::vector<RankedHit> SortPins(Federation& federation) {
  std::vector<FederatedQuery>& queries = federation.queries;
  ParallelFor(queries.size(), [&](size_t i) {
    FederatedQuery& query = queries[i];
    query.status = KeepPins(*query.snapshot, query.request, query.pins);
  });
  std::vector<RankedHit> pins;
  for (uint32_t number = 0; number < queries.size(); ++number) {
    FederatedQuery& query = queries[number];
    DocSet& pinned = federation.indexes[query.uid].pinned;
    // If several queries pin one document, the pin of the first query stays.
    std::erase_if(query.pins, [&](const PinnedDocument& pin) {
      if (pinned.Contains(pin.docid)) return true;
      pinned.Add(pin.docid);
      return false;
    });
    for (const PinnedDocument& pin : query.pins)
      pins.push_back({number, Hit{pin.docid, nullptr}, nullptr, &pin});
  }
  std::stable_sort(pins.begin(), pins.end(), [](const RankedHit& a, const RankedHit& b) {
    return a.pin->position < b.pin->position;
  });
  for (auto& [uid, index] : federation.indexes) {
    if (index.pinned.empty()) continue;
    for (const uint32_t number : index.queries) {
      auto& excluded = queries[number].request.excluded;
      // A query does not find what it hides, nor what any query pins.
      DocSet both = excluded ? *excluded | index.pinned : index.pinned;
      excluded = std::make_shared<const DocSet>(std::move(both));
    }
  }
  return pins;
}

std::unique_ptr<MergedList> MergeLists(const FederatedRequest& request,
                                       const std::vector<RankedHit>& pins, Federation& federation) {
  auto list = std::make_unique<MergedList>();
  for (const auto& [uid, index] : federation.indexes) {
    if (!index.queries.empty()) list->hits.Add(HitsOf(index, federation));
  }
  const MergedWindow& window = request.window;
  HitsWithPins hits(pins, list->hits);
  std::optional<DistinctValues> values;
  if (request.distinct) values.emplace(*request.distinct);
  // Totals of pages are exact, so every dropped document must be found.
  const bool all = window.requested.numbered && (values || request.for_merging());
  const uint64_t counted = request.counted_hits();
  uint64_t position = 0;
  StopCounter steps;
  while (all || (window.limit > 0 && position < window.end())) {
    steps.Step(64);
    const auto hit = hits.Next(position);
    if (!hit) break;
    const FederatedQuery& query = federation.queries[hit->query];
    if (values && hit->pin == nullptr && !values->Keep(*query.snapshot, hit->hit.docid)) {
      if (position < counted) federation.indexes[query.uid].rejected.Add(hit->hit.docid);
      continue;
    }
    if (window.Has(position)) {
      list->page.push_back(*hit);
    } else if (request.counts_values() && list->further.size() < kFurtherDistinctMax) {
      list->further.push_back(*hit);
    }
    ++position;
  }
  return list;
}

}  // namespace gannet::search
