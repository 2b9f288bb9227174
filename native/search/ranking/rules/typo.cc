// The rule typo: the cost of a document is the number of typos of its cheapest expansions along a
// path.
//
// Uses only set operations on posting lists. Each way to distribute typos over the steps of a path
// is a separate set of documents, and becomes a path of the bucket: later rules use only the
// expansions of that class.
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "search/ranking/rank.h"
#include "search/ranking/rules.h"
#include "search/ranking/score_details.h"

namespace gannet::search {
namespace {

constexpr uint32_t kNgramTypos[kNgramSlotsMax] = {
    0, 2, 3};  // typos that concatenation costs, by number of words less one

// The documents of `within` whose cheapest expansions of a node are of class `typos`.
DocSet CheapestWithin(NodeDocuments& documents_of, NodeNumber node, int typos,
                      const DocSet& within) {
  DocSet documents = documents_of.Within(node, typos, within);
  for (int lower = 0; lower < typos && !documents.empty(); ++lower)
    documents -= documents_of.Within(node, lower, documents);
  return documents;
}

// The class of a step that costs most. A class costs its number.
uint32_t ClassMax(const Graph& graph, const Step& step) {
  if (step.verbatim) return 0;
  return graph.NodeOf(step).inside ? kPartsClass : 2;
}

// The highest cost along a path.
uint32_t TypoMax(const Graph& graph, const Path& path) {
  uint32_t sum = 0;
  for (const Step& step : path) {
    const Node& node = graph.NodeOf(step);
    // A word restricted to its verbatim form keeps the cost 1 of split words only if it never
    // allowed typos.
    if (node.term.phrase || (step.verbatim && node.allowed_typos > 0)) continue;
    sum += kNgramTypos[node.slots() - 1] +
           (node.synonyms_only ? 0 : std::max<uint32_t>(node.allowed_typos, node.inside ? 3 : 1));
  }
  return sum;
}

class Typo : public RankingRule {
 public:
  Typo() : RankingRule(kTypoRule.name) {}

  void Split(Bucket bucket, BucketSplit& out) override;

  void AppendScoreDetails(DetailWriter& out, const Detail& detail, const Detail*) const override {
    out.Begin(kTypoRule.name);
    out.Number("typoCount", detail.max - detail.rank);
    out.Number("maxTypoCount", detail.max - 1);
    out.Score("score", detail.share());
  }
};

void Typo::Split(Bucket bucket, BucketSplit& out) {
  const Graph& graph = out.ranker.query().graph;
  NodeDocuments& documents_of = out.ranker.query().documents;
  uint32_t max = 0, cost_max = 0;
  for (const Path& path : bucket.paths) {
    max = std::max(max, TypoMax(graph, path));
    uint32_t cost = 0;
    for (const Step& step : path)
      cost += kNgramTypos[graph.NodeOf(step).slots() - 1] + ClassMax(graph, step);
    cost_max = std::max(cost_max, cost);
  }
  DocSet remaining = std::move(bucket.documents);
  for (uint32_t cost = 0; cost <= cost_max && !remaining.empty() && !out.Full(); ++cost) {
    Bucket child;
    for (const Path& path : bucket.paths) {
      uint32_t base = 0;
      for (const Step& step : path) base += kNgramTypos[graph.NodeOf(step).slots() - 1];
      if (base > cost) continue;
      // Every way to distribute the typos over the steps; these are disjoint.
      std::vector<std::pair<uint32_t, Path>> taken;  // lowest docid, path
      Path chosen;
      const std::function<void(size_t, uint32_t, const DocSet&)> spread =
          [&](size_t at, uint32_t left, const DocSet& documents) {
            if (at == path.size()) {
              if (left > 0) return;
              taken.emplace_back(documents.min(), chosen);
              child.documents |= documents;
              return;
            }
            const Step& step = path[at];
            const uint32_t typos_max = std::min(left, ClassMax(graph, step));
            for (uint32_t typos = 0; typos <= typos_max; ++typos) {
              DocSet next;
              if (step.verbatim) {
                next = documents_of.Within(step, documents);
              } else {
                next = CheapestWithin(documents_of, step.node, static_cast<int>(typos), documents);
              }
              if (next.empty()) continue;
              chosen.push_back({step.node, static_cast<int8_t>(typos), step.verbatim});
              spread(at + 1, left - typos, next);
              chosen.pop_back();
            }
          };
      const DocSet before = remaining - child.documents;
      if (before.empty()) break;
      spread(0, cost - base, before);
      std::sort(taken.begin(), taken.end(),
                [](const auto& a, const auto& b) { return a.first < b.first; });
      for (auto& [docid, way] : taken) child.paths.push_back(std::move(way));
    }
    if (child.documents.empty()) continue;
    remaining -= child.documents;
    out.GiveCost(std::move(child), cost, max);
  }
}

}  // namespace

const RuleDeclaration kTypoRule{
    .name = "typo",
    .add = AddPlain<Typo>,
};

}  // namespace gannet::search
