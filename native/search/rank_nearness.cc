// The rule proximity over a large bucket with one path.
//
// Where frequent words stand close to each other is listed; all else has to be read. But only the page is wanted, and what
// the rules behind proximity say of documents is known from lists. So documents whose cost is not known are passed on as
// if they had the cost whose turn it is. A document is read when it would come onto the page; if it costs more, it
// waits for that cost instead.
#include "search/rank.h"

#include <algorithm>
#include <utility>

#include "search/large_bucket.h"
#include "search/path_lists.h"
#include "search/rank_unread.h"

namespace gannet::search {

bool Ranker::RanksOneByOne(size_t rule) const {
  if (options_.threshold) return false;
  for (; rule < rules_.size(); ++rule) {
    switch (rules_[rule].kind) {
      case RuleKind::kAttributeRank:
      case RuleKind::kWordPosition:
      case RuleKind::kExactAttribute: break;
      case RuleKind::kSort:
        // Which places are as good as equally far depends on the nearest of them.
        if (rules_[rule].sort->kind == SortCriterion::Kind::kGeo) return false;
        break;
      case RuleKind::kExactWords:
        // The paths of its parts come in an order that depends on all documents.
        if (rule + 1 < rules_.size()) return false;
        break;
      default: return false;
    }
  }
  return true;
}

bool Ranker::SplitByNearness(const Bucket& bucket, size_t rule, const Detail* detail, uint32_t max) {
  if (bucket.documents.size() < LargeBucketMin()) return false;
  const Path& path = bucket.paths[0];
  if (!PathSweep::Supports(*graph_, path)) return false;
  PathLists lists(*graph_, path);
  PathSweep sweep(*graph_, path, max_weight_);
  auto nearest = lists.SideBySide(bucket.documents);
  const bool listed = nearest.has_value();
  if (!listed) nearest = {DocSet(), bucket.documents};

  uint32_t least = 0;
  for (const Step& step : path) least += graph_->nodes()[step.node].slots() - 1;
  const bool one_by_one = RanksOneByOne(rule + 1);
  // Documents whose cost is known and that wait for it, by cost.
  std::vector<DocSet> waiting(max + size_t{1});
  bool dropping = false;
  // All of `sure` cost `cost`, those of `unread` that or more.
  const auto place = [&](uint32_t cost, const DocSet& sure, const DocSet& unread) {
    Bucket part{sure | unread, bucket.paths};
    UnreadNearness of_cost(sweep, cost, sure, unread, waiting);
    if (one_by_one) {
      unread_ = &of_cost;
    } else {
      part.documents = of_cost.Confirm(part.documents);
    }
    if (!part.documents.empty()) Descend(std::move(part), rule + 1, AddCost(rule, cost, max, detail), dropping);
    unread_ = nullptr;
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
