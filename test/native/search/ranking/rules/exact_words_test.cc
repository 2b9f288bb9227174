#include <gtest/gtest.h>

#include "search/ranking/rules/rule_bench.h"

namespace gannet::search {
namespace {

TEST(ExactWordsRule, CostsEachWordThatIsNotAsTyped) {
  RuleBench bench({R"({"id":0,"a":"deep ocean"})", R"({"id":1,"a":"deep oceans"})",
                   R"({"id":2,"a":"deeper oceans"})", R"({"id":3,"a":"deeps ocean"})"},
                  "{}");
  bench.SetQuery({"deep", "ocean"});
  // Any expansion counts as a match.
  for (Step& step : bench.path()) step.typos = -1;
  const CostByDocument costs = bench.Read(CostsOf(kExactWordsRule));
  EXPECT_EQ(costs.at(0), 0u);
  EXPECT_EQ(costs.at(1), 1u);
  EXPECT_EQ(bench.Listed(CostsOf(kExactWordsRule)), costs);
}

TEST(ExactWordsRule, ATypoIsNeverAsTyped) {
  RuleBench bench({R"({"id":0,"a":"oceans"})", R"({"id":1,"a":"ocean oceans"})"}, "{}");
  bench.SetQuery({"ocean"}, 1);
  bench.Expect(CostsOf(kExactWordsRule), {{0, 1}, {1, 1}});
}

TEST(ExactWordsRule, NarrowsTheStepForLaterRules) {
  RuleBench bench({R"({"id":0,"a":"ocean"})", R"({"id":1,"a":"oceans"})"}, "{}");
  bench.SetQuery({"ocean"});
  bench.path()[0].typos = -1;
  ForwardScan scan(bench.context(), {&CostsOf(kExactWordsRule)}, {bench.path()}, true);
  scan.Run(bench.context().snapshot.documents);
  Sources sources;
  const std::vector<uint32_t> numbers{0};
  scan.AddSources(CostsOf(kExactWordsRule), {bench.path()}, numbers, 1,
                  bench.context().snapshot.documents, sources);
  ASSERT_EQ(sources.size(), 1u);
  EXPECT_TRUE(sources[0]->At(0).TakePaths()[0][0].verbatim);
  EXPECT_FALSE(sources[0]->At(1).TakePaths()[0][0].verbatim);
}

}  // namespace
}  // namespace gannet::search
