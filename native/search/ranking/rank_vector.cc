// The rule of searches by vectors: the nearest documents first, one bucket for each similarity;
// those without an embedding last.
#include <algorithm>
#include <utility>

#include "base/stop_point.h"
#include "search/ranking/rank.h"

namespace gannet::search {

void Ranker::SplitByVector(Bucket bucket, size_t rule, const Detail* detail) {
  const StepGuard whole;  // a scan minds the time itself
  const VectorScan& scan = *options_.vector_scan;
  DocSet near = scan.Embedded(bucket.documents);
  DocSet without = bucket.documents - near;
  const auto said = [&](float similarity) {
    Detail next;
    next.rule = rules_[rule];
    next.similarity = similarity < 0 ? similarity : scan.Score(similarity);
    next.previous = detail;
    return Add(std::move(next));
  };
  bool dropping = false;
  if (options_.threshold && options_.exhaustive) {
    // What is below is found as a whole, which costs less than to put it in order.
    DocSet passing = scan.AtLeast(near, *options_.threshold);
    excluded_ |= near - passing;
    near = std::move(passing);
  }
  // Of documents that are passed over, or that distinct throws out, more are needed than the page
  // has.
  uint64_t count = std::max<uint64_t>(options_.end - std::min(seen_, options_.end), 1);
  if (distinct_ != nullptr) count *= 4;
  const auto full = [&] { return seen_ >= options_.end && distinct_ == nullptr; };
  // What is known when time is over is given out, and what was not looked at follows unranked.
  bool over = false;
  for (bool first = true; !near.empty() && !dropping && !full() && !Full(detail); first = false) {
    over = !first && options_.deadline != nullptr && options_.deadline->Passed();
    if (over) break;
    const std::vector<NearDocument> nearest =
        scan.Nearest(near, static_cast<size_t>(std::min<uint64_t>(count, near.size())));
    if (nearest.empty()) break;  // damaged, or nobody waits
    std::vector<DocId> equal;
    for (size_t i = 0; i < nearest.size() && !full() && !Full(detail);) {
      size_t end = i;
      equal.clear();
      for (; end < nearest.size() && nearest[end].similarity == nearest[i].similarity; ++end)
        equal.push_back(nearest[end].docid);
      const float similarity = nearest[i].similarity;
      i = end;
      DocSet documents = DocSet::FromSorted(equal);
      near -= documents;
      const Detail* next = said(similarity);
      if (Below(next)) {
        // And so is all that is farther.
        dropping = true;
        excluded_ |= documents;
        break;
      }
      Refine(Bucket{std::move(documents), bucket.paths}, rule + 1, next);
    }
    if (!excluded_.empty() && distinct_ != nullptr) near -= excluded_;
    count *= 4;
  }
  if (over) {
    const Detail* next = AddSkipped(detail);
    dropping = Below(next);
    if (!dropping) Emit(Bucket{near, {}}, next);
  }
  if (dropping) excluded_ |= near;
  if (without.empty()) return;
  const Detail* next = said(-1);
  if (dropping || Below(next)) {
    if (dropping || options_.exhaustive || !Full(detail)) excluded_ |= without;
    return;
  }
  if (!full()) Refine(Bucket{std::move(without), std::move(bucket.paths)}, rule + 1, next);
}

}  // namespace gannet::search
