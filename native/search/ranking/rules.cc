#include "search/ranking/rules.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/json_reader.h"

namespace gannet::search {
namespace {

constexpr const RuleDeclaration* kDeclarations[] = {
#define GANNET_LIST_RULE(rule) &rule,
    GANNET_RULES(GANNET_LIST_RULE)
#undef GANNET_LIST_RULE
};

// null: no such rule
const RuleDeclaration* FindRule(std::string_view name) {
  for (const RuleDeclaration* declaration : kDeclarations) {
    if (declaration->name == name) return declaration;
  }
  return nullptr;
}

}  // namespace

bool ReadFinite(std::string_view json, double& number) {
  number = json::KindOf(json) == json::Kind::kNumber ? json::NumberValue(json) : NAN;
  return std::isfinite(number);
}

void AddRule(Rules& rules, std::unique_ptr<RankingRule> rule) {
  const auto same = [&](const auto& other) { return other->id() == rule->id(); };
  if (std::none_of(rules.begin(), rules.end(), same)) rules.push_back(std::move(rule));
}

Rules RulesFor(const RuleInputs& inputs) {
  Rules rules;
  const auto near = [](const auto& rule) { return rule->by_vectors(); };
  for (const index::RankingRule& setting : inputs.settings.ranking_rules) {
    const RuleDeclaration* declaration = FindRule(setting.name);
    if (declaration == nullptr || (declaration->sorts && inputs.relevance_only)) continue;
    if (declaration->sorts) {
      declaration->add(setting, inputs, rules);
    } else if (inputs.by_vectors) {
      // Comparison ends at a second relevancy rule after a sort.
      if (inputs.compared && !rules.empty() && !near(rules.back()) &&
          std::any_of(rules.begin(), rules.end(), near))
        break;
      kVectorRule.add(setting, inputs, rules);
    } else if (inputs.terms > 0 && inputs.strategy == MatchingStrategy::kNatural) {
      kNaturalRule.add(setting, inputs, rules);
    } else if (inputs.terms > 0) {
      // The rule words finds the documents that the others rank.
      kWordsRule.add(setting, inputs, rules);
      declaration->add(setting, inputs, rules);
    }
  }
  return rules;
}

bool ReadScorePart(std::string_view name, std::string_view json, ScorePart& part,
                   std::deque<SortValue>& values) {
  if (name == "weightedScore") {
    part.rule = &NoRule();
    return ReadFinite(json, part.number);
  }
  for (const RuleDeclaration* declaration : kDeclarations) {
    if (declaration->read_part != nullptr && !declaration->read_part(name, json, part, values))
      return false;
    if (part.rule != nullptr) break;
  }
  return true;
}

}  // namespace gannet::search
