// The list of ranking rules, and those that a search runs, in order (docs/behaviour/ranking.md).
//
// Threads: pure functions.
#pragma once

#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "index/settings.h"
#include "search/query/query.h"
#include "search/ranking/ranking_rule.h"
#include "search/ranking/sort.h"

namespace gannet::search {

class VectorScan;

// What rules are made from. Lifetime: the scan outlives them.
struct RuleInputs {
  const index::Settings& settings;
  const std::vector<SortCriterion>& sort;  // of the search, one per element of the parameter
  size_t terms = 0;                        // of the query; 0: only rules that sort run
  MatchingStrategy strategy = MatchingStrategy::kLast;
  // The nearness of vectors stands where the first relevancy rule would, and there is no other.
  bool by_vectors = false;
  const VectorScan* scan = nullptr;
  // Only as far as hits of several searches are compared (docs/behaviour/scores.md).
  bool compared = false;
};

// A rule as settings and other servers know it. Each is in the file of its rule.
struct RuleDeclaration {
  // In the setting `rankingRules`. One that the setting refuses is a part of other rules.
  std::string_view name;
  bool sorts = false;  // by what documents hold, whatever the query says
  // Adds what the name stands for.
  void (*add)(const index::RankingRule& asked, const RuleInputs& inputs, Rules& rules);
  // Reads the value of a part as AppendPart writes it; the rule of the part lives forever.
  // part     left without a rule where the name is not the rule's
  // values   storage for the part
  // Returns whether the value is well formed.
  bool (*read_part)(std::string_view name, std::string_view json, ScorePart& part,
                    std::deque<SortValue>& values) = nullptr;
};

#define GANNET_RULES(RULE) \
  RULE(kWordsRule)         \
  RULE(kTypoRule)          \
  RULE(kProximityRule)     \
  RULE(kAttributeRule)     \
  RULE(kAttributeRankRule) \
  RULE(kWordPositionRule)  \
  RULE(kSortRule)          \
  RULE(kExactnessRule)     \
  RULE(kExactWordsRule)    \
  RULE(kVectorRule)

#define GANNET_DECLARE_RULE(rule) extern const RuleDeclaration rule;
GANNET_RULES(GANNET_DECLARE_RULE)
#undef GANNET_DECLARE_RULE

// Adds a rule unless one with its id is there.
void AddRule(Rules& rules, std::unique_ptr<RankingRule> rule);

// RuleDeclaration::add of a rule that needs to know nothing.
template <typename Rule>
void AddPlain(const index::RankingRule&, const RuleInputs&, Rules& rules) {
  AddRule(rules, std::make_unique<Rule>());
}

Rules RulesFor(const RuleInputs& inputs);

// Reads a number of a part. False: it is none.
bool ReadFinite(std::string_view json, double& number);

// Reads a part of what a hit of another server is compared by, as RuleDeclaration::read_part.
bool ReadScorePart(std::string_view name, std::string_view json, ScorePart& part,
                   std::deque<SortValue>& values);

}  // namespace gannet::search
