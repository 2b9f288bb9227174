// The keys by which hits of different searches are compared (docs/behaviour/scores.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "search/ranking/ranking_rule.h"

namespace gannet::search {

// The details of a hit in rule order, with consecutive ranks merged into one number.
// Lifetime: borrows the details and the rules of the search that found the hit.
struct ScoreKey {
  static ScoreKey Of(const Detail* detail, double weight);

  std::vector<ScorePart> parts;
  double global = 0;  // the ranking score, weighted
};

// What decides if parts of different classes meet.
enum class UnlikeParts : uint8_t {
  kScoreDecides,   // the global score
  kLengthDecides,  // the longer list, then the global score; servers of a network agree on this
};

// Negative: a comes first; 0: equal. Parts are compared in order; if one list is a prefix of the
// other, the longer one wins. Not transitive over lists whose rules cannot be compared.
int CompareScores(const ScoreKey& a, const ScoreKey& b,
                  UnlikeParts unlike = UnlikeParts::kScoreDecides);
// The same for the two halves of one hybrid search (docs/behaviour/vectors.md): a number comes
// before a sort value unless it is 0.
int CompareHybridScores(const ScoreKey& a, const ScoreKey& b);

// The class of the rule at one position of a list.
struct RuleClass {
  std::string_view kind;  // RankingRule::compared_as
  std::string name;       // for messages
};

// The classes of the rules of a search, in order; consecutive relevancy rules are one.
std::vector<RuleClass> ClassesOf(const Rules& rules);

}  // namespace gannet::search
