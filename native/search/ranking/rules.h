// The ranking rules that a search runs, in order (docs/behaviour/ranking.md).
//
// Threads: a pure function.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "index/settings.h"
#include "search/ranking/sort.h"

namespace gannet::search {

class CostRule;

enum class MatchingStrategy : uint8_t { kLast, kAll, kFrequency };

// Cost rules: name in the setting `rankingRules`, and the rule, which a file in rules/ defines.
// Without a name: part of another rule.
#define GANNET_COST_RULES(RULE)            \
  RULE("proximity", ProximityRule)         \
  RULE("attributeRank", AttributeRankRule) \
  RULE("wordPosition", WordPositionRule)   \
  RULE("", ExactWordsRule)

#define GANNET_DECLARE_RULE(name, rule) const CostRule& rule();
GANNET_COST_RULES(GANNET_DECLARE_RULE)
#undef GANNET_DECLARE_RULE

enum class RuleKind : uint8_t { kWords, kTypo, kCost, kExactAttribute, kSort, kVector, kSkipped };

struct Rule {
  RuleKind kind;
  bool whole_attribute =
      false;  // of attributeRank and wordPosition: halves of the rule `attribute`
  const SortCriterion* sort = nullptr;  // of kSort
  const CostRule* cost = nullptr;       // of kCost

  bool Is(const CostRule& rule) const { return cost == &rule; }
};

// Rules that run for a search, in order. has_terms false: only sort criteria.
// sort: one criterion per element of the parameter; custom: storage for `attr:asc` rules. Both
// outlive the rules.
std::vector<Rule> RulesFor(const index::Settings& settings, const std::vector<SortCriterion>& sort,
                           bool has_terms, MatchingStrategy strategy,
                           std::deque<SortCriterion>& custom);
// The same of a search by vectors: the nearness of vectors stands where the first relevancy rule
// would, and there is no other.
std::vector<Rule> VectorRulesFor(const index::Settings& settings,
                                 const std::vector<SortCriterion>& sort,
                                 std::deque<SortCriterion>& custom);
// How many of these rules count where hits of several searches are compared
// (docs/behaviour/scores.md).
size_t ComparableVectorRules(const index::Settings& settings,
                             const std::vector<SortCriterion>& sort);

}  // namespace gannet::search
