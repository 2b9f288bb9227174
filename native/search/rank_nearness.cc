// The rule proximity over a large bucket with one path.
//
// Where words stand side by side is listed, of frequent ones; all else has to be read. But only the page is wanted, and
// what the rules behind proximity say of documents is known from lists: documents are read in their order, and those
// of the lowest cost are passed on part by part, until the page is full.
#include <algorithm>
#include <utility>

#include "search/large_bucket.h"
#include "search/path_lists.h"
#include "search/rank.h"

namespace gannet::search {

OrderedParts::By Ranker::OrderBehind(size_t rule) const {
  OrderedParts::By by;
  size_t next = rule + 1;
  if (next < rules_.size() && rules_[next].kind == RuleKind::kAttributeRank) {
    by.attribute = max_weight_ > 0;
    ++next;
  }
  by.position = next < rules_.size() && rules_[next].kind == RuleKind::kWordPosition;
  return by;
}

bool Ranker::SplitByNearness(const Bucket& bucket, size_t rule, const Detail* detail, uint32_t max) {
  const uint64_t size = bucket.documents.size();
  if (size < LargeBucketMin()) return false;
  const Path& path = bucket.paths[0];
  if (!PathSweep::Supports(*graph_, path)) return false;
  PathLists lists(*graph_, path);
  PathSweep sweep(*graph_, path, max_weight_);
  auto nearest = lists.SideBySide(bucket.documents);
  const bool listed = nearest.has_value();
  if (!listed) nearest = {DocSet(), bucket.documents};
  if (nearest->unsure.size() > size / 2 && EmitHeads(bucket, rule, detail)) return true;

  uint32_t least = 0;
  for (const Step& step : path) least += graph_->nodes()[step.node].slots() - 1;
  const OrderedParts::By by = OrderBehind(rule);
  // Documents whose cost is known and that wait for it, by cost.
  std::vector<DocSet> waiting(max + size_t{1});
  bool dropping = false;
  // All of `sure` cost `cost`, those of `unread` that or more: passes on what costs that, part by part.
  const auto place = [&](uint32_t cost, const DocSet& sure, const DocSet& unread) {
    const auto read_all = [&](DocSet& found, const DocSet& read) {
      sweep.Run(read, PathSweep::Costs::kProximity);
      const auto by_cost = sweep.ByCost(&PathCosts::proximity, max, read);
      for (size_t c = 0; c < by_cost.size(); ++c) (c == cost ? found : waiting[c]) |= DocSet::FromSorted(by_cost[c]);
    };
    // So few are read as quickly as put in order.
    if (unread.size() <= LargeBucketMin() / 2) {
      DocSet found = sure;
      if (!unread.empty()) read_all(found, unread);
      if (!found.empty()) Descend(Bucket{std::move(found), bucket.paths}, rule + 1, AddCost(rule, cost, max, detail), dropping);
      return;
    }
    const uint64_t in_vain_max = LargeBucketMin() * 4;
    uint64_t in_vain = 0;  // documents read since one cost that
    OrderedParts parts(lists, by, max_weight_, sure | unread);
    while (!Full()) {
      DocSet part = in_vain < in_vain_max ? parts.Next() : parts.Rest();
      if (part.empty()) return;
      DocSet found = part & sure;
      DocSet read = part & unread;
      if (!read.empty()) {
        read_all(found, read);
        in_vain += read.size();
      }
      if (found.empty()) continue;
      in_vain = 0;
      Descend(Bucket{std::move(found), bucket.paths}, rule + 1, AddCost(rule, cost, max, detail), dropping);
    }
  };
  place(least, nearest->sure, nearest->unsure);
  if (Full()) return true;
  DocSet rest = bucket.documents - nearest->sure;
  rest -= nearest->unsure;
  // What lists tell of the others, and what they cost at least where reading has to tell.
  std::vector<DocSet> unread(waiting.size());
  if (listed && !rest.empty()) {
    PathLists::Distances distances = lists.ByDistance(rest);
    for (uint32_t c = 0; c < distances.known.size(); ++c) {
      waiting[std::min(least + c, max)] |= distances.known[c];
      unread[std::min(least + std::max(c, 1u), max)] |= distances.unknown[c];
    }
  } else if (least < max) {
    unread[least + 1] = std::move(rest);
  }
  for (uint32_t cost = least + 1; cost <= max && !Full(); ++cost) {
    place(cost, std::move(waiting[cost]), unread[cost]);
  }
  return true;
}

}  // namespace gannet::search
