// The rules attributeRank and wordPosition over a large bucket with one path: what posting lists tell of it, part by part.
#include <algorithm>
#include <map>

#include "search/large_bucket.h"
#include "search/path_lists.h"
#include "search/rank.h"

namespace gannet::search {

std::optional<DocSet> Ranker::SplitByLists(const Bucket& bucket, size_t rule, const Detail* detail, uint32_t max, bool& dropping) {
  if (bucket.documents.size() < LargeBucketMin()) return std::nullopt;
  const std::vector<SweepStep> steps = SweepStepsOf(bucket.paths[0]);
  if (!PathSweep::Supports(*graph_, steps)) return std::nullopt;
  PathLists lists(*graph_, steps);
  DocSet rest = bucket.documents;
  const auto descend = [&](DocSet documents, uint32_t cost) {
    if (documents.empty() || Full()) return;
    DocSet done = documents;
    Descend(Bucket{std::move(documents), bucket.paths}, rule + 1, AddCost(rule, cost, max, detail), dropping);
    if (!Full()) rest -= done;
  };
  switch (rules_[rule].kind) {
    case RuleKind::kAttributeRank: {
      // The best documents mostly fill the page; only where they do not is all of it asked for.
      constexpr uint32_t kAsked = 2;
      for (uint32_t cost = 0; cost < kAsked && !Full(); ++cost) descend(lists.AtAttribute(cost, rest, max_weight_), cost);
      if (Full()) return DocSet();
      for (auto& [cost, documents] : lists.ByAttribute(rest, max_weight_)) descend(std::move(documents), std::min(cost, max));
      return DocSet();
    }
    case RuleKind::kWordPosition: {
      constexpr uint32_t kAsked = 3;
      const uint32_t known = lists.known_positions();
      for (uint32_t cost = 0; cost < std::min(kAsked, known) && !Full(); ++cost) descend(lists.AtPosition(cost, rest), cost);
      if (known <= kAsked || Full() || rest.empty()) return rest;
      auto positions = lists.ByPosition(rest);
      // What is unknown is read when its turn may have come, and only that.
      for (uint32_t cost = 0; cost <= max && !Full(); ++cost) {
        if (cost == positions.unknown_least && !positions.unknown.empty()) {
          PathSweep sweep(*graph_, steps, max_weight_);
          sweep.Run(positions.unknown);
          std::map<uint32_t, std::vector<uint32_t>> by_cost;
          for (const PathCosts& costs : sweep.costs()) by_cost[std::min<uint32_t>(costs.position, max)].push_back(costs.docid);
          for (const auto& [far, docids] : by_cost) positions.known[far] |= DocSet::FromSorted(docids);
        }
        if (const auto part = positions.known.find(cost); part != positions.known.end()) descend(std::move(part->second), cost);
      }
      return DocSet();
    }
    default: return std::nullopt;
  }
}

}  // namespace gannet::search
