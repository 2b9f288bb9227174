#include "search/ranking/ranking_rule.h"

#include <cmath>
#include <limits>

#include "base/json.h"
#include "search/ranking/score_details.h"

namespace gannet::search {

int CompareNumbers(double a, double b) {
  // One ulp at 1.0: products of the same ranks in another order may differ by this much.
  if (std::fabs(a - b) <= std::numeric_limits<double>::epsilon()) return 0;
  return a > b ? -1 : 1;
}

int RankingRule::Compare(const ScorePart& a, const ScorePart& b) const {
  return CompareNumbers(a.number, b.number);
}

void RankingRule::AppendPart(const ScorePart& part, std::string& out) const {
  out += "{\"weightedScore\":";
  AppendJsonFloat(out, part.number);
  out += '}';
}

const RankingRule& NoRule() {
  class None : public RankingRule {
   public:
    None() : RankingRule("skipped") {}
    void Split(Bucket, BucketSplit&) override {}
    void AppendScoreDetails(DetailWriter& out, const Detail&, const Detail*) const override {
      out.Begin("skipped");
    }
  };
  static const None none;
  return none;
}

}  // namespace gannet::search
