// The rule of searches by vectors: the nearest documents first; those without an embedding last.
#include <algorithm>
#include <memory>
#include <vector>

#include "base/json.h"
#include "search/ranking/rules.h"
#include "search/ranking/rules/by_score.h"
#include "search/ranking/score_details.h"
#include "search/vectors/vector_scan.h"

namespace gannet::search {

namespace {

class NearestVectors : public ByScore {
 public:
  // scan    null: the rule only compares
  explicit NearestVectors(const VectorScan* scan) : ByScore(kVectorRule.name), scan_(scan) {}

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
  DocSet Scored(const DocSet& documents) const override { return scan_->Embedded(documents); }
  std::vector<NearDocument> Best(const DocSet& candidates, size_t count) const override {
    return scan_->Nearest(candidates, count);
  }
  DocSet AtLeast(const DocSet& candidates, double score) const override {
    return scan_->AtLeast(candidates, score);
  }
  float Score(float similarity) const override { return scan_->Score(similarity); }

  const VectorScan* scan_;
};

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
