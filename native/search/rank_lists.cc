// The rules attributeRank and wordPosition over a large bucket with one path: what posting lists tell of it, part by part.
#include <algorithm>
#include <utility>

#include "search/large_bucket.h"
#include "search/path_lists.h"
#include "search/rank.h"

namespace gannet::search {

std::optional<DocSet> Ranker::SplitByLists(const Bucket& bucket, size_t rule, const Detail* detail, uint32_t max, bool& dropping) {
  if (bucket.documents.size() < LargeBucketMin()) return std::nullopt;
  const Path& path = bucket.paths[0];
  if (!PathSweep::Supports(*graph_, path)) return std::nullopt;
  PathLists lists(*graph_, path);
  DocSet rest = bucket.documents;
  const auto descend = [&](DocSet documents, uint32_t cost) {
    if (documents.empty() || Full()) return;
    DocSet done = documents;
    Descend(Bucket{std::move(documents), bucket.paths}, rule + 1, AddCost(rule, cost, max, detail), dropping);
    if (!Full()) rest -= done;
  };
  switch (rules_[rule].kind) {
    case RuleKind::kAttributeRank: {
      AttributeParts parts(lists, max_weight_, std::move(rest));
      while (!Full()) {
        auto part = parts.Next();
        if (!part) break;
        Descend(Bucket{std::move(part->documents), bucket.paths}, rule + 1, AddCost(rule, part->cost, max, detail), dropping);
      }
      return DocSet();
    }
    case RuleKind::kWordPosition: {
      constexpr uint32_t kAsked = 3;
      const uint32_t known = lists.known_positions();
      for (uint32_t cost = 0; cost < std::min(kAsked, known) && !Full(); ++cost) descend(lists.AtPosition(cost, rest), cost);
      if (known <= kAsked || Full() || rest.empty()) return rest;
      // Asking for all positions of several words takes as long as reading that many documents for each.
      constexpr uint64_t kReadPerStep = 8;
      if (unread_ != nullptr && path.size() > 1 && rest.size() <= kReadPerStep * LargeBucketMin() * path.size()) {
        rest = unread_->Confirm(rest);
        if (rest.size() < LargeBucketMin()) return rest;
      }
      auto positions = lists.ByPosition(rest);
      // What is unknown is read when its turn may have come, and only that.
      for (uint32_t cost = 0; cost <= max && !Full(); ++cost) {
        if (cost == positions.unknown_least && !positions.unknown.empty()) {
          if (unread_ != nullptr) positions.unknown = unread_->Confirm(positions.unknown);
          PathSweep sweep(*graph_, path, max_weight_);
          sweep.Run(positions.unknown);
          const auto by_cost = sweep.ByCost(&PathCosts::position, max, positions.unknown);
          for (uint32_t far = 0; far <= max; ++far) positions.known[far] |= DocSet::FromSorted(by_cost[far]);
        }
        if (const auto part = positions.known.find(cost); part != positions.known.end()) descend(std::move(part->second), cost);
      }
      return DocSet();
    }
    default: return std::nullopt;
  }
}

}  // namespace gannet::search
