// A few handwritten documents and their costs under a rule, computed from forward records and from
// posting lists.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "search/query/query_bench.h"
#include "search/ranking/cost_rule.h"
#include "search/ranking/forward_scan.h"
#include "search/ranking/path_postings.h"
#include "search/ranking/rules.h"

namespace gannet::search {

using CostByDocument = std::map<DocId, uint32_t>;

// The rule, made from default settings.
inline const CostRule& CostsOf(const RuleDeclaration& declaration) {
  static std::map<const RuleDeclaration*, Rules> made;
  Rules& rules = made[&declaration];
  if (rules.empty()) {
    const index::Settings settings;
    declaration.add({.name = std::string(declaration.name)}, {.settings = settings, .sort = {}},
                    rules);
  }
  return *rules[0]->cost();
}

class RuleBench : public QueryBench {
 public:
  using QueryBench::QueryBench;

  // Queries the words, which are adjacent in the query, each as typed. typos: for each word, a
  // class of expansions.
  void SetQuery(const std::vector<std::string>& words, int8_t typos = 0) {
    QueryBench::SetQuery(words);
    const auto& searchable = snapshot().settings->searchable;
    const auto max_weight =
        static_cast<uint32_t>(searchable && !searchable->empty() ? searchable->size() - 1 : 0);
    context_ = std::make_unique<RankContext>(RankContext{snapshot(), query(), max_weight});
    path_.clear();
    for (NodeNumber n = 0; n < words.size(); ++n) path_.push_back({n, typos, false});
  }

  Path& path() { return path_; }
  const RankContext& context() const { return *context_; }

  // The costs of the documents that match the path, from forward records.
  CostByDocument Read(const CostRule& rule) {
    ForwardScan scan(*context_, {&rule}, {path_}, false);
    scan.Run(snapshot().documents);
    Sources sources;
    const std::vector<uint32_t> numbers{0};
    scan.AddSources(rule, {path_}, numbers, rule.PathMax(*context_, path_), scan.Matching(0),
                    sources);
    return CostsOf(rule, sources);
  }
  // The same from posting lists; approximate documents are verified.
  CostByDocument Listed(const CostRule& rule) {
    EXPECT_TRUE(HasPostings(expansion(), path_));
    Sources sources;
    rule.AddPostingSources(*context_, {PathDocuments(documents(), path_, nullptr), 0, path_, {}},
                           rule.PathMax(*context_, path_), nullptr, sources);
    return CostsOf(rule, sources);
  }
  // Expects these costs from both.
  void Expect(const CostRule& rule, const CostByDocument& costs) {
    EXPECT_EQ(Read(rule), costs) << "read";
    EXPECT_EQ(Listed(rule), costs) << "from lists";
  }

 private:
  CostByDocument CostsOf(const CostRule& rule, const Sources& sources) {
    CostByDocument costs;
    for (uint32_t cost = 0; cost <= rule.PathMax(*context_, path_); ++cost) {
      for (const auto& source : sources) {
        const CostBucket bucket = source->At(cost);
        const auto add = [&](const DocSet& documents) {
          documents.ForEach([&](DocId docid) { EXPECT_TRUE(costs.emplace(docid, cost).second); });
        };
        add(bucket.verified);
        if (!bucket.approximate.empty()) add(source->Verify(cost, bucket.approximate));
      }
    }
    return costs;
  }

  std::unique_ptr<RankContext> context_;
  Path path_;
};

}  // namespace gannet::search
