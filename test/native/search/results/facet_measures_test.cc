#include "search/results/facet_measures.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "comparisons.h"

namespace gannet::search {
namespace {

// The percentile of the numbers 1 to `total`, which is its rank.
double RankOf(double percent, uint64_t total) {
  NumberMeter meter({.percentiles = {percent}}, {1, static_cast<double>(total)}, total);
  for (uint64_t number = 1; number <= total; ++number) meter.Add({static_cast<double>(number), 1});
  return meter.measured().percentiles.at(percent);
}

TEST(FacetMeasures, RankIsExact) {
  EXPECT_EQ(RankOf(1.1, 3000), 33);
  EXPECT_EQ(RankOf(1.1, 3001), 34);
  EXPECT_EQ(RankOf(0.07, 10000), 7);
  EXPECT_EQ(RankOf(0, 7), 1);
  EXPECT_EQ(RankOf(100, 7), 7);
  EXPECT_EQ(RankOf(99.99999999999999, 7), 7);
  EXPECT_EQ(RankOf(5e-324, 7), 1);
  EXPECT_EQ(RankOf(10, 10), 1);
  EXPECT_EQ(RankOf(14.285714285714286, 7), 2);
}

TEST(FacetMeasuresOracle, RankIsThatOfWholeNumbers) {
  std::mt19937_64 random(TestSeed());
  for (Comparisons comparisons(4000); comparisons.Next();) {
    // Whole ranks are rare among all thousandths.
    const uint64_t step = random() % 2 == 0 ? 1 : 100;
    const uint64_t thousandths = random() % (100000 / step + 1) * step;
    const uint64_t total = random() % 2 == 0 ? 1 + random() % 3000 : (1 + random() % 30) * 100;
    const uint64_t rank = (thousandths * total + 99999) / 100000;
    const double percent = static_cast<double>(thousandths) / 1000;
    ASSERT_EQ(RankOf(percent, total), std::max<uint64_t>(rank, 1)) << percent << " of " << total;
  }
}

}  // namespace
}  // namespace gannet::search
