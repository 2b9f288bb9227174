// The second half of the rule exactness: a step costs the number of its words unless the document
// contains it as typed (docs/behaviour/ranking.md).
//
// The posting list of the word as typed gives the cost, which does not depend on the phrases that
// the document contains.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "search/matching/large_bucket.h"
#include "search/ranking/cost_rule.h"
#include "search/ranking/rules.h"
#include "search/ranking/score_details.h"

namespace gannet::search {
namespace {

// Fewer documents are read as fast as lists.
constexpr uint64_t kListedMin = 257;

bool MayBeTyped(const Node& node, const Step& step) { return !node.ngram() && step.typos <= 0; }

class ExactWords : public CostRule {
 public:
  ExactWords() : CostRule(kExactWordsRule.name) {}

  uint32_t StepMax(const RankContext& context, const Path& path, size_t i) const override {
    return context.NodeOf(path[i]).slots();
  }

  uint32_t StepCost(const RankContext&, ScannedDocument& document, const ScannedStep*,
                    const ScannedStep& step) const override {
    const bool typed = MayBeTyped(*step.node, *step.step) &&
                       (step.node->term.phrase || document.Searched(step.as_typed));
    return typed ? 0 : step.node->slots();
  }
  bool AsksWordAsTyped() const override { return true; }
  bool NarrowsToTyped() const override { return true; }

  uint64_t PostingsMin() const override { return std::min(kListedMin, LargeBucketMin()); }
  bool DependsOnPhrases() const override { return false; }

  // Adds a source for each combination of words that documents contain as typed.
  void AddPostingSources(const RankContext& context, OnePath group, uint32_t, TwoPhase*,
                         Sources& sources) const override {
    const Path& path = group.path;
    QueryEvaluator& query = context.query;
    std::vector<std::optional<DocSet>> typed(path.size());  // by step; nullopt: all
    for (size_t i = 0; i < path.size(); ++i) {
      const Node& node = context.NodeOf(path[i]);
      const Expansions& zero = query.expansion.Class(path[i].node, 0);
      const WordNumber verbatim = query.expansion.Of(path[i].node).verbatim;
      const bool only = zero.IsOnly(verbatim);
      if (node.term.phrase || (only && path[i].typos == 0 && !node.ngram())) continue;
      typed[i].emplace();
      if (!MayBeTyped(node, path[i]) || verbatim == kNoWord) continue;
      typed[i] = query.postings.WordDocuments(verbatim, query.scope.fields(), &group.documents);
    }
    Path chosen = path;
    const std::function<void(size_t, uint32_t, DocSet)> divide = [&](size_t at, uint32_t cost,
                                                                     DocSet documents) {
      if (documents.empty()) return;
      if (at == path.size()) {
        std::map<uint32_t, CostBucket> buckets;
        const DocId first = documents.min();
        buckets[cost] = {std::move(documents), {}, {{group.number, first, chosen}}};
        return sources.push_back(std::make_unique<KnownCosts>(std::move(buckets)));
      }
      DocSet with = typed[at] ? documents & *typed[at] : std::exchange(documents, DocSet());
      documents -= with;
      chosen[at].verbatim = true;
      divide(at + 1, cost, std::move(with));
      chosen[at].verbatim = path[at].verbatim;
      divide(at + 1, cost + context.NodeOf(path[at]).slots(), std::move(documents));
    };
    divide(0, 0, group.documents);
  }

  // The order of the paths of its buckets depends on all documents.
  bool RanksOneByOne(bool last) const override { return last; }

  // Shown by the other half.
  void AppendScoreDetails(DetailWriter&, const Detail&, const Detail*) const override {}
};

}  // namespace

const RuleDeclaration kExactWordsRule{
    .name = "exactWords",
    .add = AddPlain<ExactWords>,
};

}  // namespace gannet::search
