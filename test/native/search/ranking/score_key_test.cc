#include "search/ranking/score_key.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "bitmap/random_docids.h"
#include "search/ranking/rules.h"

namespace gannet::search {
namespace {

SortCriterion Criterion(const std::string& field, bool ascending) {
  SortCriterion criterion;
  criterion.field = field;
  criterion.ascending = ascending;
  return criterion;
}

SortCriterion Distance(bool ascending) {
  SortCriterion criterion;
  criterion.kind = SortCriterion::Kind::kGeo;
  criterion.ascending = ascending;
  return criterion;
}

SortValue Number(double number) {
  SortValue value;
  value.kind = SortValue::Kind::kNumber;
  value.number = number;
  return value;
}

SortValue String(const std::string& string) {
  SortValue value;
  value.kind = SortValue::Kind::kString;
  value.string = string;
  return value;
}

SortValue Metres(double metres) {
  SortValue value;
  value.kind = SortValue::Kind::kGeo;
  value.distance = metres;
  return value;
}

// One rule per criterion.
Rules SortRules(const std::vector<SortCriterion>& sort) {
  const index::Settings settings;
  Rules rules;
  kSortRule.add({.name = "sort"}, {.settings = settings, .sort = sort}, rules);
  return rules;
}

// The details of one hit, rule by rule.
class Chain {
 public:
  Chain& Rank(uint32_t rank, uint32_t max) {
    Detail detail{};
    detail.rule = &NoRule();
    detail.rank = rank;
    detail.max = max;
    return Add(std::move(detail));
  }
  Chain& Sort(SortCriterion criterion, SortValue value) {
    rules_.push_back(SortRules({std::move(criterion)}));
    Detail detail{};
    detail.rule = rules_.back()[0].get();
    detail.value = std::move(value);
    return Add(std::move(detail));
  }
  ScoreKey List(double weight = 1) const { return ScoreKey::Of(last_, weight); }

 private:
  Chain& Add(Detail detail) {
    detail.previous = last_;
    details_.push_back(std::move(detail));
    last_ = &details_.back();
    return *this;
  }
  std::deque<Rules> rules_;
  std::deque<Detail> details_;
  const Detail* last_ = nullptr;
};

// a comes before b, in both directions of comparison.
void ExpectBefore(const ScoreKey& a, const ScoreKey& b, const char* what) {
  EXPECT_LT(CompareScores(a, b), 0) << what;
  EXPECT_GT(CompareScores(b, a), 0) << what;
}

void ExpectEqual(const ScoreKey& a, const ScoreKey& b, const char* what) {
  EXPECT_EQ(CompareScores(a, b), 0) << what;
  EXPECT_EQ(CompareScores(b, a), 0) << what;
}

TEST(ScoreKey, MergesConsecutiveRanksAndRestartsAfterASort) {
  Chain chain;
  chain.Rank(2, 2).Rank(3, 4).Sort(Criterion("year", true), Number(7)).Rank(1, 3).Rank(2, 2);
  const ScoreKey list = chain.List(2);
  ASSERT_EQ(list.parts.size(), 3u);
  EXPECT_DOUBLE_EQ(list.parts[0].number, 2 * 7.0 / 8);
  EXPECT_EQ(list.parts[1].value->number, 7);
  EXPECT_DOUBLE_EQ(list.parts[2].number, 2 * 2.0 / 6);
  EXPECT_DOUBLE_EQ(list.global, 2 * ((((7 - 1) * 3 + 1) - 1) * 2 + 2) / 48.0);
}

TEST(ScoreKey, IsEmptyForAPlaceholderSearchAndScoresTheWeight) {
  const ScoreKey list = ScoreKey::Of(nullptr, 1.5);
  EXPECT_TRUE(list.parts.empty());
  EXPECT_EQ(list.global, 1.5);
}

TEST(ScoreKey, CountsSkippedRulesAsTheLowestRank) {
  Chain skipped, ranked;
  skipped.Rank(2, 3).Rank(0, 1);
  ranked.Rank(2, 3);
  EXPECT_DOUBLE_EQ(skipped.List().parts[0].number, 1.0 / 3);
  ExpectBefore(ranked.List(), skipped.List(), "skipped");
}

TEST(ScoreKey, PutsTheHigherWeightedScoreFirst) {
  Chain good, poor;
  good.Rank(9, 10);
  poor.Rank(5, 10);
  ExpectBefore(good.List(), poor.List(), "unweighted");
  ExpectBefore(poor.List(2), good.List(), "weighted");
  ExpectEqual(good.List(0), poor.List(0), "weight 0");
}

TEST(ScoreKey, TakesScoresWithinOneStepOfADoubleAsEqual) {
  Chain third, tenth;
  third.Rank(1, 3);
  tenth.Rank(1, 10);
  const ScoreKey a = third.List(0.3), b = tenth.List(1);
  ExpectEqual(a, b, "0.3 * 1/3 and 1/10");
  Chain next;
  next.Rank(1, 10).Sort(Criterion("x", true), Number(1));
  ExpectBefore(next.List(), a, "the longer list");
}

TEST(ScoreKey, ComparesSortValuesInTheirDirectionWithoutTheWeight) {
  const auto one = [](SortCriterion criterion, SortValue value, double weight = 1) {
    auto chain = std::make_unique<Chain>();
    chain->Sort(std::move(criterion), std::move(value));
    static std::deque<std::unique_ptr<Chain>> kept;
    kept.push_back(std::move(chain));
    return kept.back()->List(weight);
  };
  const SortCriterion up = Criterion("a", true), down = Criterion("b", false);
  ExpectBefore(one(up, Number(1)), one(Criterion("other", true), Number(2), 9), "ascending");
  ExpectBefore(one(down, Number(2)), one(down, Number(1), 9), "descending");
  ExpectBefore(one(up, Number(1)), one(up, String("a")), "numbers before strings, ascending");
  ExpectBefore(one(down, Number(1)), one(down, String("z")), "numbers before strings, descending");
  ExpectBefore(one(up, String("z")), one(up, {}), "no value last, ascending");
  ExpectBefore(one(down, Number(-5)), one(down, {}), "no value last, descending");
  ExpectEqual(one(up, {}), one(up, {}), "two without value");
  ExpectBefore(one(Distance(true), Metres(10)), one(Distance(true), Metres(20)), "nearer");
  ExpectBefore(one(Distance(false), Metres(20)), one(Distance(false), Metres(10)), "farther");
  ExpectBefore(one(Distance(true), Metres(1e7)), one(Distance(true), {}), "no point, ascending");
  ExpectBefore(one(Distance(false), Metres(0)), one(Distance(false), {}), "no point, descending");
}

TEST(ScoreKey, LeavesPartsOfDifferentKindsToTheGlobalScore) {
  Chain sorted, ranked;
  sorted.Sort(Criterion("a", true), Number(1)).Rank(1, 2);
  ranked.Rank(3, 4);
  ExpectBefore(ranked.List(), sorted.List(), "0.75 and 0.5");
  ExpectBefore(sorted.List(2), ranked.List(), "1 and 0.75");
  Chain up, down;
  up.Sort(Criterion("a", true), Number(1));
  down.Sort(Criterion("a", false), Number(2));
  ExpectEqual(up.List(), down.List(), "directions differ, both score 1");
  ExpectBefore(up.List(1.5), down.List(), "directions differ, weighted");
}

TEST(ScoreKey, OrdersListsOfTheSameRulesConsistently) {
  std::mt19937_64 random(TestSeed());
  const SortCriterion year = Criterion("year", true), name = Criterion("name", false);
  for (int round = 0; round < 2000; ++round) {
    Chain chains[3];
    ScoreKey lists[3];
    for (int i = 0; i < 3; ++i) {
      chains[i]
          .Rank(1 + random() % 3, 3)
          .Sort(year, random() % 4 == 0 ? SortValue{} : Number(random() % 3));
      chains[i].Rank(1 + random() % 2, 2);
      if (random() % 2) chains[i].Sort(name, random() % 2 ? Number(random() % 2) : String("x"));
      lists[i] = chains[i].List(1 + random() % 2);
    }
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(CompareScores(lists[i], lists[i]), 0);
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      EXPECT_EQ(CompareScores(lists[i], lists[j]) < 0, CompareScores(lists[j], lists[i]) > 0);
      if (CompareScores(lists[i], lists[j]) <= 0 && CompareScores(lists[j], lists[k]) <= 0) {
        EXPECT_LE(CompareScores(lists[i], lists[k]), 0);
      }
    }
  }
}

TEST(RuleClasses, NameEachSortAndTakeConsecutiveRelevancyRulesAsOne) {
  index::Settings settings;
  for (const char* const name : {"words", "typo", "sort", "attribute", "exactness"})
    settings.ranking_rules.push_back({.name = name});
  const Rules rules = RulesFor(
      {.settings = settings, .sort = {Criterion("year", true), Distance(false)}, .terms = 1});
  const auto classes = ClassesOf(rules);
  ASSERT_EQ(classes.size(), 4u);
  EXPECT_EQ(classes[0].kind, RankingRule::kRelevancy);
  EXPECT_EQ(classes[1].kind, "asc");
  EXPECT_EQ(classes[1].name, "`year:asc`");
  EXPECT_EQ(classes[2].kind, "geo:desc");
  EXPECT_EQ(classes[3].kind, RankingRule::kRelevancy);
  EXPECT_TRUE(ClassesOf({}).empty());
}

}  // namespace
}  // namespace gannet::search
