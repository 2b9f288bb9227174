// The ways to a full page that leave most of a bucket unread.
//
// The best documents of a search are those that match it perfectly, and posting lists tell which these are: every word
// as typed, or the words of the query at the beginning of a field. Where they fill the page, no other document can be
// on it, and nothing else is looked for: neither typos nor where words stand in the rest.
#include "search/rank.h"

#include <algorithm>
#include <utility>

#include "search/large_bucket.h"
#include "search/path_lists.h"
#include "search/sweep.h"

namespace gannet::search {

// The documents that match every word as typed (or as prefixes) come first of all when `typo` follows `words`. They
// are found without looking for typos at all, and often fill the page. Only without scores: these need to know which
// other paths there are.
bool Ranker::EmitPerfect(const DocSet* within, size_t rule, const Detail* detail) {
  if (!PerfectFirst(rule) || detail != nullptr) return false;
  Bucket part;
  Path path;
  for (uint16_t n = 0; n < graph_->nodes().size(); ++n) {
    if (!graph_->nodes()[n].ngram()) path.push_back({n, 0, false});
  }
  if (EmitBestAttribute(path, within, rule + 2)) return true;
  part.documents = PathDocuments(*graph_, path, within);
  if (part.documents.empty() || part.documents.size() < options_.end) return false;
  part.paths.push_back(std::move(path));
  Refine(std::move(part), rule + 2, detail);
  return true;
}

// Of a single word, those come first that have it in the best attribute, and of these where a field begins with it.
bool Ranker::EmitBestAttribute(const Path& path, const DocSet* within, size_t rule) {
  if (path.size() > 1 || max_weight_ == 0) return false;
  while (rule < rules_.size() && rules_[rule].kind == RuleKind::kProximity) ++rule;
  if (rule >= rules_.size() || rules_[rule].kind != RuleKind::kAttributeRank) return false;
  if (NodeOf(path[0]).term.phrase || !PathSweep::Supports(*graph_, path)) return false;
  PathLists lists(*graph_, path);
  const auto emit = [&](DocSet best, size_t behind) {
    if (best.size() < options_.end) return false;
    Refine(Bucket{std::move(best), {path}}, behind, nullptr);
    return true;
  };
  if (rule + 1 < rules_.size() && rules_[rule + 1].kind == RuleKind::kWordPosition && lists.known_positions() > 0) {
    const DocSet near = lists.StepHeads(path[0], lists.PositionsAt(path[0], 0), within);
    if (near.size() >= options_.end && emit(lists.InBestFields(path[0], &near, max_weight_), rule + 2)) return true;
  }
  return emit(lists.InBestFields(path[0], within, max_weight_), rule + 1);
}

bool Ranker::PerfectFirst(size_t rule) const {
  return !options_.details && !options_.threshold && distinct_ == nullptr && !options_.exhaustive && options_.offset == 0 &&
         hits_.empty() && rule + 1 < rules_.size() && rules_[rule].kind == RuleKind::kWords &&
         rules_[rule + 1].kind == RuleKind::kTypo;
}

// A large bucket need not be read as a whole when its best documents begin with the words of the query. Take a bound on
// the cost of wordPosition: the documents within it are listed by position, so they are known without reading any. Those
// of them that the rules before wordPosition find perfect come before every other document of the bucket; when they fill
// the page, nothing else can be on it.
bool Ranker::EmitHeads(const Bucket& bucket, size_t rule, const Detail* detail) {
  const uint64_t bucket_min = LargeBucketMin() / 2;
  if (in_heads_ || unread_ != nullptr || distinct_ != nullptr || options_.threshold || options_.exhaustive) return false;
  const uint64_t size = bucket.documents.size();
  if (size < bucket_min || options_.end - seen_ >= size / 2) return false;
  bool by_weight = false, by_distance = false, found = false;
  size_t behind = rule;  // the rule behind wordPosition
  for (; behind < rules_.size() && !found; ++behind) {
    switch (rules_[behind].kind) {
      case RuleKind::kProximity: by_distance = bucket.paths[0].size() > 1; break;
      case RuleKind::kAttributeRank: by_weight = max_weight_ > 0; break;
      case RuleKind::kWordPosition: found = true; break;
      default: return false;
    }
  }
  if (!found) return false;
  const Path& path = bucket.paths[0];
  for (const Step& step : path) {
    if (NodeOf(step).slots() != 1 || step.typos < 0 || step.verbatim) return false;
  }
  if (!PathSweep::Supports(*graph_, path)) return false;
  PathLists lists(*graph_, path);
  const DocSet first_field = by_weight ? lists.AtAttribute(0, bucket.documents, max_weight_) : bucket.documents;
  for (uint32_t bound = 0; bound < 3; ++bound) {
    DocSet near = first_field;
    if (bound >= lists.known_positions()) return false;
    for (const Step& step : path) {
      uint32_t mask = 0;
      for (uint32_t cost = 0; cost <= bound; ++cost) mask |= lists.PositionsAt(step, cost);
      near = lists.StepHeads(step, mask, &near);
    }
    const uint64_t count = near.size();
    if (count < options_.end - seen_) continue;
    // Without a bound on the cost but 0, and nothing but lists to ask: all of these are equal so far.
    if (bound == 0 && !by_distance && !options_.details) {
      in_heads_ = true;
      Refine(Bucket{std::move(near), bucket.paths}, behind, detail);
      in_heads_ = false;
      return true;
    }
    if (count > size / 2) return false;
    PathSweep sweep(*graph_, path, max_weight_);
    sweep.Run(near);
    std::vector<uint32_t> best;
    for (const PathCosts& costs : sweep.costs()) {
      if (costs.position <= bound && (!by_distance || costs.proximity == 0) && (!by_weight || costs.attribute == 0)) {
        best.push_back(costs.docid);
      }
    }
    if (best.size() < options_.end - seen_) continue;
    in_heads_ = true;
    Refine(Bucket{DocSet::FromSorted(best), bucket.paths}, bound == 0 && !options_.details ? behind : rule, detail);
    in_heads_ = false;
    return true;
  }
  return false;
}

}  // namespace gannet::search
