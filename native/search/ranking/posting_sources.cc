#include "search/ranking/posting_sources.h"

#include <algorithm>

#include "search/matching/large_bucket.h"

namespace gannet::search {
namespace {

CostBucket BucketOf(const OnePath& bucket, DocSet verified, DocSet approximate = {}) {
  if (verified.empty() && approximate.empty()) return {};
  const DocId first = verified.empty() ? approximate.min() : approximate.empty() ? verified.min() : std::min(verified.min(), approximate.min());
  return {std::move(verified), std::move(approximate), {{bucket.number, first, bucket.path}}};
}

DocSet TakeAt(std::map<uint32_t, DocSet>& buckets, uint32_t cost) {
  auto bucket = buckets.extract(cost);
  return bucket.empty() ? DocSet() : std::move(bucket.mapped());
}

}  // namespace

CostBucket CheapestPathSource::At(uint32_t cost) {
  CostBucket cheapest;
  for (const auto& source : of_paths_) {
    if (documents_.empty()) break;
    CostBucket bucket = source->At(cost);
    DocSet documents = bucket.verified & documents_;
    if (!bucket.approximate.empty()) documents |= source->Verify(cost, bucket.approximate & documents_);
    documents_ -= documents;
    if (documents.empty()) continue;
    bucket.paths[0].first = documents.min();
    bucket.verified = std::move(documents);
    bucket.approximate.Clear();
    cheapest.Add(std::move(bucket));
  }
  return cheapest;
}

CostBucket AttributeSource::At(uint32_t cost) {
  // The documents of cost 0 mostly fill the page. All other costs are computed only if they do not.
  if (cost == 0) {
    DocSet best = lists_.AtAttribute(0, bucket_.documents, max_weight_);
    bucket_.documents -= best;
    return BucketOf(bucket_, std::move(best));
  }
  if (!bucket_.documents.empty()) {
    behind_ = lists_.ByAttribute(bucket_.documents, max_weight_);
    bucket_.documents.Clear();
  }
  return BucketOf(bucket_, TakeAt(behind_, cost));
}

PositionSource::PositionSource(Graph& graph, OnePath bucket, uint32_t max_weight, uint32_t most, TwoPhase* two_phase)
    : graph_(graph), bucket_(std::move(bucket)), lists_(graph, bucket_.path, bucket_.held), max_weight_(max_weight), most_(most), two_phase_(two_phase),
      known_(lists_.known_positions()) {}

CostBucket PositionSource::At(uint32_t cost) {
  constexpr uint32_t kAsked = 3;
  if (cost < std::min(kAsked, known_)) {
    DocSet here = lists_.AtPosition(cost, bucket_.documents);
    bucket_.documents -= here;
    return BucketOf(bucket_, std::move(here));
  }
  if (!std::exchange(asked_all_, true)) {
    if (known_ <= kAsked) {
      Read(bucket_.documents);
    } else {
      AskAll();
    }
    bucket_.documents.Clear();
  }
  // Documents without a known cost are read when their lower bound is asked for.
  if (cost == positions_.unknown_least && !positions_.unknown.empty()) {
    Read(two_phase_ != nullptr ? two_phase_->Verify(positions_.unknown) : positions_.unknown);
  }
  return BucketOf(bucket_, TakeAt(positions_.known, cost));
}

void PositionSource::AskAll() {
  // Unions of all leading positions of one step take as long as reading this many buckets.
  constexpr uint64_t kReadPerStep = 8;
  DocSet& rest = bucket_.documents;
  if (two_phase_ != nullptr && bucket_.path.size() > 1 && rest.size() <= kReadPerStep * LargeBucketMin() * bucket_.path.size()) {
    rest = two_phase_->Verify(rest);
    if (rest.size() < LargeBucketMin()) return Read(rest);
  }
  positions_ = lists_.ByPosition(rest);
}

void PositionSource::Read(const DocSet& documents) {
  if (documents.empty()) return;
  ForwardScan scan(graph_, bucket_.path, bucket_.held, max_weight_);
  scan.Run(documents);
  const auto by_cost = scan.ByCost(&PathCosts::position, most_, documents);
  for (uint32_t cost = 0; cost <= most_; ++cost) {
    if (!by_cost[cost].empty()) positions_.known[cost] |= DocSet::FromSorted(by_cost[cost]);
  }
}

ProximitySource::ProximitySource(Graph& graph, OnePath bucket, uint32_t most)
    : graph_(graph), bucket_(std::move(bucket)), lists_(graph, bucket_.path, bucket_.held), scan_(graph, bucket_.path, bucket_.held, 0),
      waiting_(most + size_t{1}), approximate_(most + size_t{1}) {
  for (const Step& step : bucket_.path) least_ += graph_.nodes()[step.node].slots() - 1;
}

CostBucket ProximitySource::At(uint32_t cost) {
  if (cost < least_) return {};
  if (cost == least_) return Nearest();
  if (cost == least_ + 1) AskRest();
  return BucketOf(bucket_, std::move(waiting_[cost]), std::move(approximate_[cost]));
}

CostBucket ProximitySource::Nearest() {
  auto nearest = lists_.SideBySide(bucket_.documents);
  listed_ = nearest.has_value();
  if (!nearest) return BucketOf(bucket_, {}, bucket_.documents);
  rest_ = bucket_.documents - nearest->verified;
  rest_ -= nearest->approximate;
  return BucketOf(bucket_, std::move(nearest->verified), std::move(nearest->approximate));
}

void ProximitySource::AskRest() {
  if (!listed_ || rest_.empty()) return;
  const auto most = static_cast<uint32_t>(waiting_.size() - 1);
  PostingCosts::Distances distances = lists_.ByDistance(rest_);
  for (uint32_t c = 0; c < distances.known.size(); ++c) {
    waiting_[std::min(least_ + c, most)] |= distances.known[c];
    approximate_[std::min(least_ + std::max(c, 1u), most)] |= distances.unknown[c];
  }
  rest_.Clear();
}

DocSet ProximitySource::Verify(uint32_t cost, const DocSet& among) {
  const DocSet documents = among & bucket_.documents;
  if (documents.empty()) return {};
  scan_.Run(documents, ForwardScan::Costs::kProximity);
  const auto by_cost = scan_.ByCost(&PathCosts::proximity, static_cast<uint32_t>(waiting_.size() - 1), documents);
  for (size_t c = 0; c < by_cost.size(); ++c) {
    if (c != cost && !by_cost[c].empty()) waiting_[c] |= DocSet::FromSorted(by_cost[c]);
  }
  return DocSet::FromSorted(by_cost[cost]);
}

}  // namespace gannet::search
