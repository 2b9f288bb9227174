// A bucket with one path of plain words: the costs of its documents come from one pass over their records (sweep.h),
// which serves the following rules as well.
#include "search/rank.h"

#include <algorithm>
#include <utility>

#include "search/sweep.h"

namespace gannet::search {

std::vector<SweepStep> Ranker::SweepStepsOf(const Path& path) {
  std::vector<SweepStep> steps;
  for (const Step& step : path) steps.push_back({step.node, step.typos, step.verbatim});
  return steps;
}

bool Ranker::SplitBySweep(const Bucket& bucket, size_t rule, const Detail* detail, uint32_t max, bool dropping) {
  const RuleKind kind = rules_[rule].kind;
  std::vector<SweepStep> steps = SweepStepsOf(bucket.paths[0]);
  if (!sweep_ || sweep_->path() != steps || !bucket.documents.IsSubsetOf(swept_)) {
    if (!PathSweep::Supports(*graph_, steps)) return false;
    sweep_.emplace(*graph_, std::move(steps), max_weight_);
    sweep_->Run(bucket.documents);
    swept_ = bucket.documents;
  }
  const auto& costs = sweep_->costs();
  const bool all = costs.size() == bucket.documents.size();
  std::vector<std::vector<uint32_t>> parts(max + size_t{1});
  const auto place = [&](const PathCosts& entry) {
    const uint32_t cost = kind == RuleKind::kProximity       ? entry.proximity
                          : kind == RuleKind::kAttributeRank ? entry.attribute
                                                             : entry.position;
    parts[std::min(cost, max)].push_back(entry.docid);
  };
  if (all) {
    for (const PathCosts& entry : costs) place(entry);
  } else {
    auto at = costs.begin();
    bucket.documents.ForEach([&](uint32_t docid) {
      at = std::lower_bound(at, costs.end(), docid, [](const PathCosts& entry, uint32_t id) { return entry.docid < id; });
      if (at != costs.end() && at->docid == docid) place(*at);
    });
  }
  for (uint32_t cost = 0; cost <= max && !Full(); ++cost) {
    if (parts[cost].empty()) continue;
    Descend(Bucket{DocSet::FromSorted(parts[cost]), bucket.paths}, rule + 1, AddCost(rule, cost, max, detail), dropping);
  }
  return true;
}

}  // namespace gannet::search
