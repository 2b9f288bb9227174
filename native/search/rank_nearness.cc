// The rule proximity over a large bucket with one path.
//
// Where words stand side by side is listed, of frequent ones; all else has to be read. But only the page is wanted, and
// what the rules behind proximity say of documents is known from lists: documents are read in their order, and those
// of the lowest cost are passed on part by part, until the page is full.
#include <algorithm>

#include "search/path_lists.h"
#include "search/rank.h"

namespace gannet::search {

OrderedParts::By Ranker::OrderBehind(size_t rule) const {
  OrderedParts::By by;
  for (size_t next = rule + 1; next < rules_.size(); ++next) {
    if (rules_[next].kind == RuleKind::kAttributeRank && !by.attribute && next == rule + 1) {
      by.attribute = max_weight_ > 0;
    } else {
      by.position = rules_[next].kind == RuleKind::kWordPosition;
      break;
    }
  }
  return by;
}

bool Ranker::SplitByNearness(const Bucket& bucket, size_t rule, const Detail* detail, uint32_t max) {
  constexpr uint64_t kBucketMin = 1024;  // fewer are read as quickly
  const uint64_t size = bucket.documents.size();
  if (size < kBucketMin) return false;
  const std::vector<SweepStep> steps = SweepStepsOf(bucket.paths[0]);
  if (!PathSweep::Supports(*graph_, steps)) return false;
  PathLists lists(*graph_, steps);
  auto nearest = lists.SideBySide(bucket.documents);
  if (!nearest) nearest = {DocSet(), bucket.documents};
  if (nearest->unsure.size() > size / 2 && EmitHeads(bucket, rule, detail)) return true;

  uint32_t least = 0;
  for (const SweepStep& step : steps) least += graph_->nodes()[step.node].slots() - 1;
  const OrderedParts::By by = OrderBehind(rule);
  // Documents whose cost is known and that wait for it, by cost.
  std::vector<std::vector<uint32_t>> waiting(max + size_t{1});
  bool dropping = false;
  // All of `sure` cost `cost`, those of `unread` that or more: passes on what costs that, part by part.
  const auto place = [&](uint32_t cost, const DocSet& sure, const DocSet& unread) {
    OrderedParts parts(lists, by, max_weight_, sure | unread);
    for (DocSet part = parts.Next(); !part.empty() && !Full(); part = parts.Next()) {
      DocSet found = part & sure;
      DocSet read = part & unread;
      if (!read.empty()) {
        sweep_.emplace(*graph_, steps, max_weight_);
        sweep_->Run(read);
        std::vector<uint32_t> near;
        for (const PathCosts& costs : sweep_->costs()) {
          (costs.proximity == cost ? near : waiting[std::min<uint32_t>(costs.proximity, max)]).push_back(costs.docid);
        }
        swept_ = std::move(read);
        found |= DocSet::FromSorted(near);
      }
      if (!found.empty()) Descend(Bucket{std::move(found), bucket.paths}, rule + 1, AddCost(rule, cost, max, detail), dropping);
    }
  };
  const auto waiting_at = [&](uint32_t cost) {
    DocSet documents;
    documents.AddMany(waiting[cost]);
    return documents;
  };
  place(least, nearest->sure, nearest->unsure);
  if (Full()) return true;
  DocSet rest = bucket.documents - nearest->sure;
  rest -= nearest->unsure;
  uint32_t cost = least + 1;
  if (!rest.empty() && cost <= max) {
    place(cost, waiting_at(cost), rest);
    ++cost;
  }
  for (; cost <= max && !Full(); ++cost) {
    DocSet documents = waiting_at(cost);
    if (!documents.empty()) Descend(Bucket{std::move(documents), bucket.paths}, rule + 1, AddCost(rule, cost, max, detail), dropping);
  }
  return true;
}

}  // namespace gannet::search
