#include "search/ranking/rules/by_score.h"

#include <algorithm>
#include <utility>

#include "base/stop_point.h"
#include "search/ranking/rank.h"

namespace gannet::search {

void ByScore::Split(Bucket bucket, BucketSplit& out) {
  const StepGuard whole;  // a scan minds the time itself
  Ranker& ranker = out.ranker;
  const RankOptions& options = ranker.options();
  DocSet near = Scored(bucket.documents);
  DocSet without = bucket.documents - near;
  const auto said = [&](float similarity) {
    Detail next{.rule = this, .previous = out.said};
    next.similarity = similarity < 0 ? similarity : Score(similarity);
    return ranker.Add(std::move(next));
  };
  bool dropping = false;
  if (options.threshold && options.exhaustive) {
    // What is below is found as a whole, which costs less than to put it in order.
    DocSet passing = AtLeast(near, *options.threshold);
    ranker.Exclude(near - passing);
    near = std::move(passing);
  }
  // The page skips documents before its offset, and distinct drops some, so get more than the page
  // shows.
  uint64_t count = std::max<uint64_t>(ranker.wanted(), 1);
  if (ranker.has_distinct()) count *= 4;
  const auto full = [&] { return ranker.wanted() == 0 && !ranker.has_distinct(); };
  // What is known when time is over is given out, and what was not looked at follows unranked.
  bool over = false;
  for (bool first = true; !near.empty() && !dropping && !full() && !out.Full(); first = false) {
    over = !first && options.deadline != nullptr && options.deadline->Passed();
    if (over) break;
    const std::vector<NearDocument> nearest =
        Best(near, static_cast<size_t>(std::min<uint64_t>(count, near.size())));
    if (nearest.empty()) break;  // damaged, or nobody waits
    std::vector<DocId> equal;
    for (size_t i = 0; i < nearest.size() && !full() && !out.Full();) {
      size_t end = i;
      equal.clear();
      for (; end < nearest.size() && nearest[end].similarity == nearest[i].similarity; ++end)
        equal.push_back(nearest[end].docid);
      const float similarity = nearest[i].similarity;
      i = end;
      DocSet documents = DocSet::FromSorted(equal);
      near -= documents;
      const Detail* next = said(similarity);
      if (ranker.Below(next)) {
        // And so is all that is farther.
        dropping = true;
        ranker.Exclude(documents);
        break;
      }
      ranker.Refine(Bucket{std::move(documents), bucket.paths}, out.rule + 1, next);
    }
    if (!ranker.excluded().empty() && ranker.has_distinct()) near -= ranker.excluded();
    count *= 4;
  }
  if (over) {
    const Detail* next = ranker.AddSkipped(out.said);
    dropping = ranker.Below(next);
    if (!dropping) ranker.Emit(Bucket{near, {}}, next);
  }
  if (dropping) ranker.Exclude(near);
  if (without.empty()) return;
  const Detail* next = said(-1);
  if (dropping || ranker.Below(next)) {
    if (dropping || options.exhaustive || !out.Full()) ranker.Exclude(without);
    return;
  }
  if (!full())
    ranker.Refine(Bucket{std::move(without), std::move(bucket.paths)}, out.rule + 1, next);
}

}  // namespace gannet::search
