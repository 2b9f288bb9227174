#include "search/ranking/rules/word_position.h"

#include <gtest/gtest.h>

#include <string>

#include "search/ranking/rules/rule_bench.h"

namespace gannet::search {
namespace {

std::string At(int position, const std::string& word) {
  std::string text;
  for (int i = 0; i < position; ++i) text += "filler ";
  return R"({"id":0,"a":")" + text + word + R"("})";
}

TEST(WordPositionRule, CostsTheDistanceToThePositionInTheQuery) {
  RuleBench bench({At(0, "sea"), At(1, "sea"), At(2, "sea"), At(4, "sea"), At(5, "sea"),
                   At(12, "sea"), At(20, "sea"), At(100, "sea")});
  bench.SetQuery({"sea"});
  // Positions of 16 and more are rounded to 24, 32, 64, 128.
  bench.Expect(CostsOf(kWordPositionRule),
               {{0, 0}, {1, 1}, {2, 2}, {3, 2}, {4, 3}, {5, 5}, {6, 6}, {7, 8}});
}

TEST(WordPositionRule, WantsTheSecondWordSecond) {
  RuleBench bench({R"({"id":0,"a":"deep sea"})", R"({"id":1,"a":"sea deep"})",
                   R"({"id":2,"a":"deep","b":"the sea"})"});
  bench.SetQuery({"deep", "sea"});
  bench.Expect(CostsOf(kWordPositionRule), {{0, 0}, {1, 2}, {2, 0}});
}

TEST(WordPositionRule, TakesTheNearestPosition) {
  RuleBench bench({R"({"id":0,"a":"sea x x sea"})", R"({"id":1,"a":"x x x x x sea","b":"x sea"})"});
  bench.SetQuery({"sea"});
  bench.Expect(CostsOf(kWordPositionRule), {{0, 0}, {1, 1}});
}

TEST(WordPositionRule, CostsEachConcatenatedWord) {
  EXPECT_EQ(PositionCostOf(0, 0, 1), 0u);
  EXPECT_EQ(PositionCostOf(0, 0, 2), 0u + 1u);
  EXPECT_EQ(PositionCostOf(5000, 0, 1), 10u);
}

}  // namespace
}  // namespace gannet::search
