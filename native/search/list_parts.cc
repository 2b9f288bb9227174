#include "search/list_parts.h"

#include <algorithm>

#include "search/large_bucket.h"

namespace gannet::search {
namespace {

CostPart PartOf(const OnePath& bucket, DocSet sure, DocSet unread = {}) {
  if (sure.empty() && unread.empty()) return {};
  const DocId first = sure.empty() ? unread.min() : unread.empty() ? sure.min() : std::min(sure.min(), unread.min());
  return {std::move(sure), std::move(unread), {{bucket.number, first, bucket.path}}};
}

DocSet TakeAt(std::map<uint32_t, DocSet>& parts, uint32_t cost) {
  auto part = parts.extract(cost);
  return part.empty() ? DocSet() : std::move(part.mapped());
}

}  // namespace

CostPart CheapestParts::At(uint32_t cost) {
  CostPart cheapest;
  for (const auto& source : of_paths_) {
    if (documents_.empty()) break;
    CostPart part = source->At(cost);
    DocSet documents = part.sure & documents_;
    if (!part.unread.empty()) documents |= source->Confirm(cost, part.unread & documents_);
    documents_ -= documents;
    if (documents.empty()) continue;
    part.paths[0].first = documents.min();
    part.sure = std::move(documents);
    part.unread.Clear();
    cheapest.Add(std::move(part));
  }
  return cheapest;
}

CostPart AttributeParts::At(uint32_t cost) {
  // The best documents mostly fill the page; only where they do not is all of it asked for.
  if (cost == 0) {
    DocSet best = lists_.AtAttribute(0, bucket_.documents, max_weight_);
    bucket_.documents -= best;
    return PartOf(bucket_, std::move(best));
  }
  if (!bucket_.documents.empty()) {
    behind_ = lists_.ByAttribute(bucket_.documents, max_weight_);
    bucket_.documents.Clear();
  }
  return PartOf(bucket_, TakeAt(behind_, cost));
}

PositionParts::PositionParts(Graph& graph, OnePath bucket, uint32_t max_weight, uint32_t most, Unread* unread)
    : graph_(graph), bucket_(std::move(bucket)), lists_(graph, bucket_.path, bucket_.held), max_weight_(max_weight), most_(most), unread_(unread),
      known_(lists_.known_positions()) {}

CostPart PositionParts::At(uint32_t cost) {
  constexpr uint32_t kAsked = 3;
  if (cost < std::min(kAsked, known_)) {
    DocSet here = lists_.AtPosition(cost, bucket_.documents);
    bucket_.documents -= here;
    return PartOf(bucket_, std::move(here));
  }
  if (!std::exchange(asked_all_, true)) {
    if (known_ <= kAsked) {
      Read(bucket_.documents);
    } else {
      AskAll();
    }
    bucket_.documents.Clear();
  }
  // What is unknown is read when its turn may have come, and only that.
  if (cost == positions_.unknown_least && !positions_.unknown.empty()) {
    Read(unread_ != nullptr ? unread_->Confirm(positions_.unknown) : positions_.unknown);
  }
  return PartOf(bucket_, TakeAt(positions_.known, cost));
}

void PositionParts::AskAll() {
  // Asking for all positions of several words takes as long as reading that many documents for each.
  constexpr uint64_t kReadPerStep = 8;
  DocSet& rest = bucket_.documents;
  if (unread_ != nullptr && bucket_.path.size() > 1 && rest.size() <= kReadPerStep * LargeBucketMin() * bucket_.path.size()) {
    rest = unread_->Confirm(rest);
    if (rest.size() < LargeBucketMin()) return Read(rest);
  }
  positions_ = lists_.ByPosition(rest);
}

void PositionParts::Read(const DocSet& documents) {
  if (documents.empty()) return;
  PathSweep sweep(graph_, bucket_.path, bucket_.held, max_weight_);
  sweep.Run(documents);
  const auto by_cost = sweep.ByCost(&PathCosts::position, most_, documents);
  for (uint32_t cost = 0; cost <= most_; ++cost) {
    if (!by_cost[cost].empty()) positions_.known[cost] |= DocSet::FromSorted(by_cost[cost]);
  }
}

NearnessParts::NearnessParts(Graph& graph, OnePath bucket, uint32_t most)
    : graph_(graph), bucket_(std::move(bucket)), lists_(graph, bucket_.path, bucket_.held), sweep_(graph, bucket_.path, bucket_.held, 0),
      waiting_(most + size_t{1}), unread_(most + size_t{1}) {
  for (const Step& step : bucket_.path) least_ += graph_.nodes()[step.node].slots() - 1;
}

CostPart NearnessParts::At(uint32_t cost) {
  if (cost < least_) return {};
  if (cost == least_) return Nearest();
  if (cost == least_ + 1) AskRest();
  return PartOf(bucket_, std::move(waiting_[cost]), std::move(unread_[cost]));
}

CostPart NearnessParts::Nearest() {
  auto nearest = lists_.SideBySide(bucket_.documents);
  listed_ = nearest.has_value();
  if (!nearest) return PartOf(bucket_, {}, bucket_.documents);
  rest_ = bucket_.documents - nearest->sure;
  rest_ -= nearest->unsure;
  return PartOf(bucket_, std::move(nearest->sure), std::move(nearest->unsure));
}

void NearnessParts::AskRest() {
  if (!listed_ || rest_.empty()) return;
  const auto most = static_cast<uint32_t>(waiting_.size() - 1);
  PathLists::Distances distances = lists_.ByDistance(rest_);
  for (uint32_t c = 0; c < distances.known.size(); ++c) {
    waiting_[std::min(least_ + c, most)] |= distances.known[c];
    unread_[std::min(least_ + std::max(c, 1u), most)] |= distances.unknown[c];
  }
  rest_.Clear();
}

DocSet NearnessParts::Confirm(uint32_t cost, const DocSet& among) {
  const DocSet documents = among & bucket_.documents;
  if (documents.empty()) return {};
  sweep_.Run(documents, PathSweep::Costs::kProximity);
  const auto by_cost = sweep_.ByCost(&PathCosts::proximity, static_cast<uint32_t>(waiting_.size() - 1), documents);
  for (size_t c = 0; c < by_cost.size(); ++c) {
    if (c != cost && !by_cost[c].empty()) waiting_[c] |= DocSet::FromSorted(by_cost[c]);
  }
  return DocSet::FromSorted(by_cost[cost]);
}

}  // namespace gannet::search
