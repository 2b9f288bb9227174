// The rule attributeRank: a step costs the weight of the best attribute that contains one of its
// words (docs/behaviour/ranking.md).
//
// Posting lists by field give all costs. Documents of cost 0 usually fill the page; the others are
// looked up only if they do not.
#include <algorithm>
#include <map>
#include <utility>

#include "search/matching/large_bucket.h"
#include "search/ranking/cost_rule.h"
#include "search/ranking/path_postings.h"
#include "search/ranking/rules.h"
#include "search/ranking/score_details.h"

namespace gannet::search {
namespace {

// The searched fields whose weight is less than the maximum, by weight.
std::map<uint32_t, segment::FieldSet> FieldsByWeight(const RankContext& context) {
  const auto& traits = context.snapshot.traits;
  std::map<uint32_t, segment::FieldSet> fields;
  for (size_t f = 0; f < traits.size(); ++f) {
    const auto field = static_cast<FieldId>(f);
    if (traits[f].searchable && traits[f].weight < context.max_weight &&
        context.query.scope.Searches(field))
      fields[traits[f].weight].Add(field);
  }
  return fields;
}

class AttributeSource : public CostSource {
 public:
  AttributeSource(const RankContext& context, OnePath bucket)
      : context_(context),
        bucket_(std::move(bucket)),
        postings_(context.query, bucket_.path, bucket_.held),
        fields_(FieldsByWeight(context)) {}

  CostBucket At(uint32_t cost) override {
    if (cost == 0) {
      DocSet best = Best();
      bucket_.documents -= best;
      return BucketOf(bucket_, std::move(best));
    }
    if (!bucket_.documents.empty()) LookUpRest(std::exchange(bucket_.documents, DocSet()));
    return BucketOf(bucket_, TakeAt(behind_, cost));
  }

 private:
  uint32_t SlotsOf(size_t i) const { return context_.NodeOf(bucket_.path[i]).slots(); }

  DocSet Best() {
    const auto best = fields_.find(0);
    if (best == fields_.end()) return {};
    DocSet documents = bucket_.documents;
    for (size_t i = 0; i < bucket_.path.size() && !documents.empty(); ++i)
      documents = postings_.InFields(i, best->second, &documents);
    return documents;
  }

  void LookUpRest(const DocSet& documents) {
    behind_[0] = documents;
    for (size_t i = 0; i < bucket_.path.size(); ++i) {
      std::map<uint32_t, DocSet> next;
      for (const auto& [weight, set] : fields_) {
        const DocSet holding = postings_.InFields(i, set, &documents);
        for (auto& [cost, group] : behind_) {
          DocSet here = group & holding;
          if (here.empty()) continue;
          group -= here;
          next[cost + weight * SlotsOf(i)] |= here;
        }
      }
      for (auto& [cost, group] : behind_) {
        if (!group.empty()) next[cost + context_.max_weight * SlotsOf(i)] |= group;
      }
      behind_ = std::move(next);
    }
  }

  const RankContext& context_;
  OnePath bucket_;  // has the documents whose cost is not known yet
  PathPostings postings_;
  std::map<uint32_t, segment::FieldSet> fields_;
  std::map<uint32_t, DocSet> behind_;  // documents of cost above 0, by cost
};

class AttributeRank : public CostRule {
 public:
  // half    whether it is a half of the rule `attribute`; the other is wordPosition
  explicit AttributeRank(bool half) : CostRule(kAttributeRankRule.name), half_(half) {}

  uint32_t StepMax(const RankContext& context, const Path& path, size_t i) const override {
    return context.max_weight * context.NodeOf(path[i]).slots();
  }

  std::optional<uint32_t> ConstantCost(const RankContext& context, const Path&) const override {
    return context.max_weight == 0 ? std::optional(0u) : std::nullopt;
  }

  uint32_t StepCost(const RankContext& context, ScannedDocument& document, const ScannedStep*,
                    const ScannedStep& step) const override {
    uint32_t best = context.max_weight;
    for (const ScannedDocument::Occurrence& occurrence : document.OccurrencesOf(step)) {
      const FieldId field = occurrence.run->field;
      if (context.query.scope.Searches(field))
        best = std::min(best, context.snapshot.traits[field].weight);
      if (best == 0) break;
    }
    return best * step.node->slots();
  }

  uint64_t PostingsMin() const override { return LargeBucketMin(); }
  void AddPostingSources(const RankContext& context, OnePath group, uint32_t, TwoPhase*,
                         Sources& sources) const override {
    sources.push_back(std::make_unique<AttributeSource>(context, std::move(group)));
  }

  std::optional<DocSet> Cheapest(const RankContext& context, const Path& path,
                                 const DocSet* within) const override {
    if (context.max_weight == 0) return std::nullopt;
    const auto fields = FieldsByWeight(context);
    const auto best = fields.find(0);
    if (best == fields.end()) return DocSet();
    const PathPhrases none;
    return PathPostings(context.query, path, none).InFields(0, best->second, within);
  }

  bool RanksOneByOne(bool) const override { return true; }

  // Shows both halves.
  void AppendScoreDetails(DetailWriter& out, const Detail& detail,
                          const Detail* next) const override {
    if (!half_) {
      out.Begin(kAttributeRankRule.name);
      return out.Score("score", detail.share());
    }
    out.Begin(kAttributeRule.name);
    out.Score("attributeRankingOrderScore", detail.share());
    if (next == nullptr || next->rule->id() != kWordPositionRule.name)
      return out.Score("score", detail.share());
    out.Score("queryWordDistanceScore", next->share());
    out.Score("score", MergedShare(detail, *next));
  }

 private:
  const bool half_;
};

}  // namespace

const RuleDeclaration kAttributeRankRule{
    .name = "attributeRank",
    .add =
        [](const index::RankingRule& setting, const RuleInputs&, Rules& rules) {
          AddRule(rules, std::make_unique<AttributeRank>(setting.name == kAttributeRule.name));
        },
};

const RuleDeclaration kAttributeRule{
    .name = "attribute",
    .add =
        [](const index::RankingRule& setting, const RuleInputs& inputs, Rules& rules) {
          kAttributeRankRule.add(setting, inputs, rules);
          kWordPositionRule.add(setting, inputs, rules);
        },
};

}  // namespace gannet::search
