// The rule proximity if precision is byAttribute: the cost of two adjacent steps is whether one
// attribute contains both, in order or in reverse order (attribute_pairs.h).
//
// Pairs are looked up cost by cost, and only for a path that may still have the cost: looking up a
// pair changes the results of later buckets.
#include <algorithm>
#include <deque>
#include <utility>

#include "search/matching/large_bucket.h"
#include "search/ranking/forward_scan.h"
#include "search/ranking/path_postings.h"
#include "search/ranking/rank.h"
#include "search/ranking/rules/attribute_pairs.h"
#include "search/ranking/rules/proximity.h"

namespace gannet::search {
namespace {

constexpr uint32_t kCosts[] = {0, 1, kFarCost};  // in order, in reverse order, neither

// Finds the documents that take a path at a cost, pair by pair.
class PathsByPairs {
 public:
  PathsByPairs(const Graph& graph, AttributePairs& pairs) : graph_(graph), pairs_(pairs) {}

  // The documents of `among` that take the path at that cost. remaining: all documents not ranked
  // yet; pairs are looked up among these.
  DocSet Taking(const Path& path, uint32_t cost, const DocSet& among, const DocSet& remaining) {
    DocSet taking;
    Walk(path, 0, cost, among, remaining, taking);
    return taking;
  }

 private:
  // Two adjacent steps at one cost, except that of neither. Dead: no document with this cost is
  // left.
  struct Link {
    Step left, right;
    uint32_t cost;
    DocSet documents;
    bool dead;
  };

  Link* Find(const Step& left, const Step& right, uint32_t cost) {
    for (Link& link : links_) {
      if (link.cost == cost && link.left == left && link.right == right) return &link;
    }
    return nullptr;
  }

  // Whether the step and the previous one stand for adjacent words of the query.
  bool Adjacent(const Path& path, size_t at) const {
    if (at == 0) return false;
    return graph_.NodeOf(path[at - 1]).term.last + 1 == graph_.NodeOf(path[at]).term.first;
  }

  // Bit s is set if the steps from `at` on may cost s in total, as far as is known.
  uint64_t Sums(const Path& path, size_t at) {
    uint64_t possible = 1;
    for (size_t i = path.size(); i > at; --i) {
      if (!Adjacent(path, i - 1)) continue;
      uint64_t with = 0;
      for (const uint32_t cost : kCosts) {
        const Link* link = cost == kFarCost ? nullptr : Find(path[i - 2], path[i - 1], cost);
        if (link == nullptr || !link->dead) with |= possible << cost;
      }
      possible = with;
    }
    return possible;
  }

  // Adds to `taking` the documents of `among` in which the steps from `at` on cost `left` in total.
  void Walk(const Path& path, size_t at, uint32_t left, const DocSet& among,
            const DocSet& remaining, DocSet& taking) {
    if (among.empty() || (Sums(path, at) >> left & 1) == 0) return;
    if (at == path.size()) {
      taking |= among;
      return;
    }
    if (!Adjacent(path, at)) return Walk(path, at + 1, left, among, remaining, taking);
    for (const uint32_t step : {kCosts[0], kCosts[1]}) {
      if (step > left || (Sums(path, at + 1) >> (left - step) & 1) == 0) continue;
      Link* link = Find(path[at - 1], path[at], step);
      if (link == nullptr) {
        const Step &l = path[at - 1], &r = path[at];
        links_.push_back({l, r, step, pairs_.Holding(l, r, step > 0, remaining), false});
        link = &links_.back();
      }
      link->dead = !link->documents.Intersects(remaining);
      Walk(path, at + 1, left - step, among & link->documents, remaining, taking);
    }
    if (left >= kFarCost) Walk(path, at + 1, left - kFarCost, among, remaining, taking);
  }

  const Graph& graph_;
  AttributePairs& pairs_;
  std::deque<Link> links_;  // a deque: a walk holds a reference to one while others are added
};

// For each path of a bucket, the documents that match all of its steps.
std::vector<DocSet> MatchingEach(const RankContext& context, const Bucket& bucket) {
  const size_t count = bucket.paths.size();
  std::vector<DocSet> matching(count);
  if (bucket.documents.size() >= LargeBucketMin()) {
    for (size_t p = 0; p < count; ++p) {
      matching[p] = bucket.documents;
      if (count > 1) {
        matching[p] =
            DocumentsAlong(context.query.documents, bucket.paths[p], std::move(matching[p]));
      }
    }
    return matching;
  }
  ForwardScan scan(context, {}, bucket.paths, false);
  scan.Run(bucket.documents);
  for (size_t p = 0; p < count; ++p) matching[p] = scan.Matching(p);
  return matching;
}

class ProximityByAttribute : public Proximity {
 public:
  void Split(Bucket bucket, BucketSplit& out) override;
  // Looking up a pair of words changes the results of later buckets.
  bool Remembers() const override { return true; }
  const CostRule* cost() const override { return nullptr; }

 private:
  std::optional<AttributePairs> pairs_;
};

void ProximityByAttribute::Split(Bucket bucket, BucketSplit& out) {
  const RankContext& context = out.ranker.costs().context();
  uint32_t max = 0;
  for (const Path& path : bucket.paths) max = std::max(max, PathMax(context, path));
  if (bucket.paths.size() == 1) {
    if (const auto cost = ConstantCost(context, bucket.paths[0]))
      return out.GiveCost(std::move(bucket), *cost, max);
  }
  for (const Path& path : bucket.paths)
    HasPostings(context.query.expansion, path);  // looks up the expansions of the steps
  if (!pairs_) pairs_.emplace(context.query);
  pairs_->BeginBucket();
  const std::vector<DocSet> matching = MatchingEach(context, bucket);
  PathsByPairs by_pairs(context.query.graph, *pairs_);
  DocSet remaining = std::move(bucket.documents);
  for (uint32_t cost = 0; cost <= max && !remaining.empty(); ++cost) {
    DocSet taken;
    std::vector<Path> paths;
    for (size_t p = 0; p < bucket.paths.size(); ++p) {
      const Path& path = bucket.paths[p];
      const uint32_t extra = ConstantPart(context, path);
      if (extra > cost) continue;
      const DocSet fresh =
          by_pairs.Taking(path, cost - extra, (matching[p] & remaining) - taken, remaining);
      if (fresh.empty()) continue;
      taken |= fresh;
      paths.push_back(path);
    }
    if (taken.empty()) continue;
    remaining -= taken;
    out.GiveCost({std::move(taken), std::move(paths), bucket.two_phase}, cost, max);
    if (out.Full()) return;
    remaining -= out.ranker.excluded();
  }
}

}  // namespace

std::unique_ptr<RankingRule> MakeProximityByAttribute() {
  return std::make_unique<ProximityByAttribute>();
}

}  // namespace gannet::search
