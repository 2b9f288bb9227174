#include "search/ranking/rules/proximity.h"

#include <gtest/gtest.h>

#include "search/ranking/rules/rule_bench.h"

namespace gannet::search {
namespace {

TEST(ProximityRule, CostsTheDistanceOfWords) {
  RuleBench bench({
      R"({"id":0,"a":"deep sea"})",                       // adjacent
      R"({"id":1,"a":"deep cold sea"})",                  // one word between
      R"({"id":2,"a":"deep and cold sea"})",              // two words between
      R"({"id":3,"a":"deep and very cold sea"})",         // farther costs the same as anywhere
      R"({"id":4,"a":"sea deep"})",                       // in reverse order one more
      R"({"id":5,"a":"deep","b":"sea"})",                 // never across fields
      R"({"id":6,"a":"sea of the deep. more deep sea"})"  // the nearest pair counts
  });
  bench.SetQuery({"deep", "sea"});
  bench.Expect(CostsOf(kProximityRule), {{0, 0}, {1, 1}, {2, 2}, {3, 3}, {4, 1}, {5, 3}, {6, 0}});
}

TEST(ProximityRule, AddsUpPairsOfAdjacentWords) {
  RuleBench bench({R"({"id":0,"a":"deep blue sea"})", R"({"id":1,"a":"deep blue big sea"})",
                   R"({"id":2,"a":"sea deep blue"})", R"({"id":3,"a":"blue sea deep"})"});
  bench.SetQuery({"deep", "blue", "sea"});
  // In the last: "deep" two before "blue" in reverse order, "blue sea" as in the query.
  bench.Expect(CostsOf(kProximityRule), {{0, 0}, {1, 1}, {2, 2}, {3, 2}});
}

TEST(ProximityRule, IsFreeForOneWord) {
  RuleBench bench({R"({"id":0,"a":"deep sea"})"});
  bench.SetQuery({"sea"});
  EXPECT_EQ(CostsOf(kProximityRule).ConstantCost(bench.context(), bench.path()), 0u);
}

}  // namespace
}  // namespace gannet::search
