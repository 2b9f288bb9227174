#include <gtest/gtest.h>

#include "search/ranking/rules/rule_bench.h"

namespace gannet::search {
namespace {

constexpr const char* kThreeFields =
    R"({"searchableAttributes":["title","body","notes"],"typoTolerance":{"enabled":false}})";

TEST(AttributeRankRule, CostsTheWeightOfTheBestAttribute) {
  RuleBench bench({R"({"id":0,"title":"sea"})", R"({"id":1,"body":"sea"})",
                   R"({"id":2,"notes":"sea"})", R"({"id":3,"notes":"sea","title":"a sea"})"},
                  kThreeFields);
  bench.SetQuery({"sea"});
  bench.Expect(CostsOf(kAttributeRankRule), {{0, 0}, {1, 1}, {2, 2}, {3, 0}});
}

TEST(AttributeRankRule, AddsUpWordsEachInItsBestAttribute) {
  RuleBench bench({R"({"id":0,"title":"deep sea"})", R"({"id":1,"title":"deep","notes":"sea"})",
                   R"({"id":2,"body":"deep sea"})", R"({"id":3,"notes":"deep sea"})"},
                  kThreeFields);
  bench.SetQuery({"deep", "sea"});
  bench.Expect(CostsOf(kAttributeRankRule), {{0, 0}, {1, 2}, {2, 2}, {3, 4}});
  EXPECT_EQ(CostsOf(kAttributeRankRule).PathMax(bench.context(), bench.path()), 4u);
}

TEST(AttributeRankRule, IsFreeForOneAttribute) {
  RuleBench bench({R"({"id":0,"title":"sea"})"}, R"({"searchableAttributes":["title"]})");
  bench.SetQuery({"sea"});
  EXPECT_EQ(CostsOf(kAttributeRankRule).ConstantCost(bench.context(), bench.path()), 0u);
}

}  // namespace
}  // namespace gannet::search
