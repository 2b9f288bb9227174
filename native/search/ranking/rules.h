// The list of all ranking rules, and the rules that a search runs, in order
// (docs/behaviour/ranking.md).
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

class NaturalScan;
class VectorScan;

// What rules are made from. Lifetime: the scan outlives them.
struct RuleInputs {
  const index::Settings& settings;
  const std::vector<SortCriterion>& sort;  // criteria, one per element of the parameter
  size_t terms = 0;  // number of terms of the query; 0: only rules that sort run
  MatchingStrategy strategy = MatchingStrategy::kLast;
  // The vector rule replaces the first relevancy rule, and the other relevancy rules are left out.
  bool by_vectors = false;
  const VectorScan* scan = nullptr;
  const NaturalScan* natural = nullptr;  // of MatchingStrategy::kNatural
  bool relevance_only = false;           // no rules that sort
  // Only the rules by which hits of several searches are compared (docs/behaviour/scores.md).
  bool compared = false;
};

// A rule as settings and other servers know it. It is defined in the file of the rule.
struct RuleDeclaration {
  // The name in the setting `rankingRules`. A rule that the setting refuses is a part of other
  // rules.
  std::string_view name;
  bool sorts = false;  // by fields of documents, whatever the query is
  // Adds the rules that the name stands for.
  void (*add)(const index::RankingRule& setting, const RuleInputs& inputs, Rules& rules);
  // Reads the value of a part as AppendPart writes it. The rule of the part is never destroyed.
  // part     left without a rule if the name is not that of this rule
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
  RULE(kVectorRule)        \
  RULE(kNaturalRule)

#define GANNET_DECLARE_RULE(rule) extern const RuleDeclaration rule;
GANNET_RULES(GANNET_DECLARE_RULE)
#undef GANNET_DECLARE_RULE

// Adds a rule unless the list has one with its id.
void AddRule(Rules& rules, std::unique_ptr<RankingRule> rule);

// RuleDeclaration::add for a rule without parameters.
template <typename Rule>
void AddPlain(const index::RankingRule&, const RuleInputs&, Rules& rules) {
  AddRule(rules, std::make_unique<Rule>());
}

Rules RulesFor(const RuleInputs& inputs);

// Reads a number of a part. Returns false if it is not a number.
bool ReadFinite(std::string_view json, double& number);

// Reads a part of the key of another server's hit, as RuleDeclaration::read_part.
bool ReadScorePart(std::string_view name, std::string_view json, ScorePart& part,
                   std::deque<SortValue>& values);

}  // namespace gannet::search
