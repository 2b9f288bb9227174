#include "search/ranking/formula_order.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/moment.h"
#include "base/stop_point.h"
#include "index/evaluate_filter.h"
#include "search/ranking/formula_first.h"
#include "segment/local_docids.h"

namespace gannet::search {
namespace {

// `now` of formulas changes once a minute, so that pages of one list agree.
constexpr double kNowStep = 60;
// How many times as many documents are looked at if too many of the first ones were dropped.
constexpr size_t kWantedGrowth = 8;

// A condition of a ranking rule that the settings do not allow holds for no document.
std::vector<DocSet> ConditionsOf(const index::Snapshot& snapshot, const filter::Formula& formula) {
  std::vector<DocSet> sets;
  for (const auto& condition : formula.conditions) {
    auto documents = index::EvaluateFilter({.snapshot = snapshot, .features = {}}, *condition);
    sets.push_back(documents.ok() ? std::move(*documents) : DocSet());
  }
  return sets;
}

// The scores of documents by all relevancy rules of the search, by docid.
// Memory: 16 bytes per document, and as much again while they are ranked
std::vector<DocumentScore> ScoresOf(const Ranker& outer, const RuleInputs& inputs,
                                    const DocSet& documents) {
  RuleInputs relevancy = inputs;
  relevancy.relevance_only = true;
  RankOptions options = outer.options();
  options.offset = 0;
  options.end = documents.size();
  options.details = true;
  options.exhaustive = true;
  options.threshold.reset();
  Ranker ranker(outer.snapshot(), outer.has_query() ? &outer.query() : nullptr, outer.parsed(),
                options, RulesFor(relevancy), nullptr);
  ranker.Run(documents);
  std::vector<DocumentScore> scores;
  scores.reserve(ranker.hits().size());
  for (const Hit& hit : ranker.hits()) scores.push_back({hit.docid, ScoreOf(hit.detail)});
  std::sort(scores.begin(), scores.end(),
            [](const DocumentScore& a, const DocumentScore& b) { return a.docid < b.docid; });
  return scores;
}

bool MayDrop(const Ranker& ranker) {
  return ranker.has_distinct() || ranker.options().threshold.has_value();
}

// The number of documents that the page needs of a bucket, if none is dropped later; all of them if
// all are looked at.
size_t WantedOf(const Bucket& bucket, const Ranker& ranker) {
  const bool all = bucket.two_phase != nullptr || (MayDrop(ranker) && ranker.options().exhaustive);
  return all ? bucket.documents.size() : ranker.wanted();
}

}  // namespace

void SplitByFormula(const SortCriterion& criterion, const RuleInputs& inputs, Bucket bucket,
                    BucketSplit& out) {
  const index::Snapshot& snapshot = out.ranker.snapshot();
  const filter::Formula& formula = *criterion.formula;
  std::vector<DocSet> own;
  if (criterion.conditions == nullptr) own = ConditionsOf(snapshot, formula);
  std::vector<DocumentScore> scores;
  if (formula.uses_scores) scores = ScoresOf(out.ranker, inputs, bucket.documents);
  const FormulaInputs formula_inputs{
      .conditions = criterion.conditions == nullptr ? own : *criterion.conditions,
      .now = std::floor(UnixSeconds() / kNowStep) * kNowStep,
      .scores = scores,
      .by_vectors = inputs.by_vectors};
  // A heap with the first document on top.
  const auto after = [&](const DocumentValue& a, const DocumentValue& b) {
    const bool a_none = std::isnan(a.value), b_none = std::isnan(b.value);
    if (a_none != b_none) return a_none;
    if (!a_none && a.value != b.value)
      return criterion.ascending ? a.value > b.value : a.value < b.value;
    return a.docid > b.docid;
  };
  StopCounter steps;
  std::vector<DocId> docids;
  size_t wanted = WantedOf(bucket, out.ranker);
  while (!bucket.documents.empty() && !out.Full()) {
    std::vector<DocumentValue> values =
        FirstByFormula(snapshot, formula, formula_inputs, bucket.documents,
                       {.wanted = wanted, .ascending = criterion.ascending});
    std::make_heap(values.begin(), values.end(), after);
    const bool again = MayDrop(out.ranker) && values.size() < bucket.documents.size();
    std::vector<DocId> given;
    while (!values.empty() && !out.Full() && (given.size() < wanted || !again)) {
      const double value = values.front().value;
      const bool none = std::isnan(value);
      docids.clear();
      while (!values.empty() &&
             (none ? std::isnan(values.front().value) : values.front().value == value)) {
        steps.Step(16);
        docids.push_back(values.front().docid);
        std::pop_heap(values.begin(), values.end(), after);
        values.pop_back();
      }
      given.insert(given.end(), docids.begin(), docids.end());
      SortValue shown;
      shown.kind = none ? SortValue::Kind::kNone : SortValue::Kind::kNumber;
      shown.number = none ? 0 : value;
      out.Give(Bucket{DocSet::FromSorted(docids), bucket.paths, bucket.two_phase},
               Detail{.value = std::move(shown)});
    }
    if (!again) return;
    bucket.documents -= segment::DocSetOf(given);
    wanted *= kWantedGrowth;
  }
}

}  // namespace gannet::search
