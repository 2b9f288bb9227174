// The rule of searches by vectors: nearest documents first, one bucket per similarity; documents
// without an embedding last.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/stop_point.h"
#include "search/ranking/rank.h"
#include "search/ranking/rules.h"
#include "search/ranking/score_details.h"
#include "search/vectors/vector_scan.h"

namespace gannet::search {

namespace {

class NearestVectors : public RankingRule {
 public:
  // scan    null: the rule only compares
  explicit NearestVectors(const VectorScan* scan) : RankingRule(kVectorRule.name), scan_(scan) {}

  void Split(Bucket bucket, BucketSplit& out) override;

  void AppendScoreDetails(DetailWriter& out, const Detail& detail, const Detail*) const override {
    out.Begin(kVectorRule.name);
    if (detail.similarity < 0) {
      out.Json("similarity", "null");
    } else {
      out.Score("similarity", static_cast<double>(detail.similarity));
    }
  }

  bool by_vectors() const override { return true; }
  std::optional<ScorePart> PartOf(const Detail& detail, double weight) const override {
    return ScorePart{this, std::max(0.0, static_cast<double>(detail.similarity)) * weight};
  }
  void AppendPart(const ScorePart& part, std::string& out) const override {
    out += "{\"vectorSort\":";
    AppendJsonFloat(out, part.number);
    out += '}';
  }

 private:
  const VectorScan* scan_;
};

void NearestVectors::Split(Bucket bucket, BucketSplit& out) {
  const StepGuard whole;  // a scan checks the deadline itself
  Ranker& ranker = out.ranker;
  const RankOptions& options = ranker.options();
  const VectorScan& scan = *scan_;
  DocSet near = scan.Embedded(bucket.documents);
  DocSet without = bucket.documents - near;
  const auto said = [&](float similarity) {
    Detail next{.rule = this, .previous = out.said};
    next.similarity = similarity < 0 ? similarity : scan.Score(similarity);
    return ranker.Add(std::move(next));
  };
  bool dropping = false;
  if (options.threshold && options.exhaustive) {
    // Finding all documents above the threshold costs less than ordering them.
    DocSet passing = scan.AtLeast(near, *options.threshold);
    ranker.Exclude(near - passing);
    near = std::move(passing);
  }
  // If documents are skipped, or dropped by distinct, more are needed than the page has.
  uint64_t count = std::max<uint64_t>(ranker.wanted(), 1);
  if (ranker.has_distinct()) count *= 4;
  const auto full = [&] { return ranker.wanted() == 0 && !ranker.has_distinct(); };
  // After the deadline, known documents are returned in order, and the rest follow unranked.
  bool over = false;
  for (bool first = true; !near.empty() && !dropping && !full() && !out.Full(); first = false) {
    over = !first && options.deadline != nullptr && options.deadline->Passed();
    if (over) break;
    const std::vector<NearDocument> nearest =
        scan.Nearest(near, static_cast<size_t>(std::min<uint64_t>(count, near.size())));
    if (nearest.empty()) break;  // damaged, or cancelled
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
        // All farther documents are below the threshold as well.
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

}  // namespace

const RuleDeclaration kVectorRule{
    .name = "vectorSort",
    .add = [](const index::RankingRule&, const RuleInputs& inputs,
              Rules& rules) { AddRule(rules, std::make_unique<NearestVectors>(inputs.scan)); },
    .read_part =
        [](std::string_view name, std::string_view json, ScorePart& part, std::deque<SortValue>&) {
          static const NearestVectors rule(nullptr);
          if (name != kVectorRule.name) return true;
          part.rule = &rule;
          return ReadFinite(json, part.number);
        },
};

}  // namespace gannet::search
