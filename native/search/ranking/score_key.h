// What hits of different searches are compared by (docs/behaviour/scores.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "search/ranking/ranking_rule.h"

namespace gannet::search {

// The details of a hit in rule order, consecutive ranks merged into one number.
// Lifetime: borrows the details and the rules of the search that found the hit.
struct ScoreKey {
  static ScoreKey Of(const Detail* detail, double weight);

  std::vector<ScorePart> parts;
  double global = 0;  // the ranking score, weighted
};

// What decides where parts of different classes meet.
enum class UnlikeParts : uint8_t {
  kScoreDecides,   // the global one
  kLengthDecides,  // the longer list, then the global score; servers of a network agree on this
};

// Below 0: a comes first; 0: neither. Parts are compared in order, and the longer list wins when
// they are equal so far. Not transitive over lists whose rules cannot be compared.
int CompareScores(const ScoreKey& a, const ScoreKey& b,
                  UnlikeParts unlike = UnlikeParts::kScoreDecides);
// The same of the two halves of one hybrid search (docs/behaviour/vectors.md): a number stands
// before a sort value unless it is 0.
int CompareHybridScores(const ScoreKey& a, const ScoreKey& b);

// What stands at one place of a list.
struct RuleClass {
  std::string_view kind;  // RankingRule::compared_as
  std::string name;       // for people
};

// The classes of the rules of a search, in order; consecutive relevancy rules are one.
std::vector<RuleClass> ClassesOf(const Rules& rules);

}  // namespace gannet::search
