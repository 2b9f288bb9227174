// The rule proximity where precision is byAttribute: two neighbouring steps cost by whether one attribute holds both,
// in their order or in the other (attribute_pairs.h).
//
// Which documents hold a pair is asked cost by cost, and only for a path that may still have the cost: asking for a
// pair changes what later buckets know.
#include "search/rank.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <utility>

#include "search/attribute_pairs.h"
#include "search/candidates.h"
#include "search/large_bucket.h"
#include "search/sweep.h"

namespace gannet::search {

void Ranker::SplitByAttribute(const Bucket& bucket, size_t rule, const Detail* detail, uint32_t max) {
  constexpr uint32_t kCosts[] = {0, 1, kFarCost};  // in order, also in the other order, neither
  Derive(bucket.paths);
  pairs_->BeginBucket();
  const size_t count = bucket.paths.size();
  std::vector<DocSet> matching(count);
  std::vector<uint32_t> extra(count);
  const bool many = bucket.documents.size() >= LargeBucketMin();
  if (!many) candidates_->LoadUnknown(bucket.documents);
  State state;
  for (size_t p = 0; p < count; ++p) {
    const Path& path = bucket.paths[p];
    for (const Step& step : path) extra[p] += NodeOf(step).slots() - 1;
    if (many) {
      matching[p] = bucket.documents;
      if (count > 1) matching[p] = Matching(path, std::move(matching[p]));
      continue;
    }
    bucket.documents.ForEach([&](uint32_t docid) {
      const bool matches = std::all_of(path.begin(), path.end(), [&](const Step& step) {
        candidates_->StateOf(docid, NodeOf(step), step.typos, step.verbatim, state);
        return state.matches;
      });
      if (matches) matching[p].Add(docid);
    });
  }
  // Two neighbouring steps at one cost. Dead: no document is left that has it.
  struct Link {
    Step left, right;
    uint32_t cost;
    DocSet documents;
    bool dead;
  };
  std::deque<Link> links;
  DocSet remaining = bucket.documents;
  const auto find = [&](const Step& left, const Step& right, uint32_t cost) -> Link* {
    for (Link& link : links) {
      if (link.cost == cost && link.left == left && link.right == right) return &link;
    }
    return nullptr;
  };
  const auto adjacent = [&](const Path& path, size_t at) {
    return at > 0 && NodeOf(path[at - 1]).term.last + 1 == NodeOf(path[at]).term.first;
  };
  // Bit s: the steps from `at` on may cost s in sum, as far as is known.
  const auto sums = [&](const Path& path, size_t at) {
    uint64_t possible = 1;
    for (size_t i = path.size(); i > at; --i) {
      if (!adjacent(path, i - 1)) continue;
      uint64_t with = 0;
      for (const uint32_t cost : kCosts) {
        const Link* link = cost == kFarCost ? nullptr : find(path[i - 2], path[i - 1], cost);
        if (link == nullptr || !link->dead) with |= possible << cost;
      }
      possible = with;
    }
    return possible;
  };
  bool dropping = false;
  for (uint32_t cost = 0; cost <= max && !remaining.empty(); ++cost) {
    DocSet taken;
    std::vector<Path> paths;
    for (size_t p = 0; p < count; ++p) {
      if (extra[p] > cost) continue;
      const Path& path = bucket.paths[p];
      bool used = false;
      const std::function<void(size_t, uint32_t, const DocSet&)> walk = [&](size_t at, uint32_t left, const DocSet& among) {
        if (among.empty() || (sums(path, at) >> left & 1) == 0) return;
        if (at == path.size()) {
          const DocSet fresh = among - taken;
          used = used || !fresh.empty();
          taken |= fresh;
          return;
        }
        if (!adjacent(path, at)) return walk(at + 1, left, among);
        for (const uint32_t step : {kCosts[0], kCosts[1]}) {
          if (step > left || (sums(path, at + 1) >> (left - step) & 1) == 0) continue;
          Link* link = find(path[at - 1], path[at], step);
          if (link == nullptr) {
            const Step &l = path[at - 1], &r = path[at];
            links.push_back({l, r, step, pairs_->Holding(l, r, step > 0, remaining), false});
            link = &links.back();
          }
          link->dead = !link->documents.Intersects(remaining);
          walk(at + 1, left - step, among & link->documents);
        }
        if (left >= kFarCost) walk(at + 1, left - kFarCost, among);
      };
      walk(0, cost - extra[p], (matching[p] & remaining) - taken);
      if (used) paths.push_back(path);
    }
    if (taken.empty()) continue;
    remaining -= taken;
    Descend({std::move(taken), std::move(paths)}, rule + 1, AddCost(rule, cost, max, detail), dropping);
    if (Full(detail)) return;
    remaining -= excluded_;
  }
}

}  // namespace gannet::search
