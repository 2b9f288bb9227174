// The rule of questions: the documents that answer best first (docs/behaviour/relevance.md).
#include <memory>
#include <vector>

#include "search/natural/natural_scan.h"
#include "search/ranking/rules.h"
#include "search/ranking/rules/by_score.h"
#include "search/ranking/score_details.h"

namespace gannet::search {

namespace {

class ByNaturalScore : public ByScore {
 public:
  explicit ByNaturalScore(const NaturalScan* scan) : ByScore(kNaturalRule.name), scan_(scan) {}

  void AppendScoreDetails(DetailWriter& out, const Detail& detail, const Detail*) const override {
    out.Begin(kNaturalRule.name);
    scan_->AppendFindings(out.docid(), out.Members());
    out.Score("score", static_cast<double>(detail.similarity));
  }
  std::optional<ScorePart> PartOf(const Detail& detail, double weight) const override {
    return ScorePart{&NoRule(), static_cast<double>(detail.similarity) * weight};
  }

 private:
  DocSet Scored(const DocSet& documents) const override { return documents; }
  std::vector<NearDocument> Best(const DocSet& candidates, size_t count) const override {
    return scan_->Best(candidates, count);
  }
  DocSet AtLeast(const DocSet& candidates, double score) const override {
    return scan_->AtLeast(candidates, score);
  }

  const NaturalScan* scan_;
};

}  // namespace

const RuleDeclaration kNaturalRule{
    .name = "natural",
    .add = [](const index::RankingRule&, const RuleInputs& inputs,
              Rules& rules) { AddRule(rules, std::make_unique<ByNaturalScore>(inputs.natural)); },
};

}  // namespace gannet::search
