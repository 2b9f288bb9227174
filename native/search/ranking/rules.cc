#include "search/ranking/rules.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace gannet::search {

namespace {

using Kind = index::RankingRule::Kind;

// null: no such rule
const CostRule* FindCostRule(std::string_view name) {
  if (name.empty()) return nullptr;
#define GANNET_FIND_RULE(known, rule) \
  if (name == known) return &rule();
  GANNET_COST_RULES(GANNET_FIND_RULE)
#undef GANNET_FIND_RULE
  return nullptr;
}

// Adds sort criteria, of those on the same field the first one.
class SortRules {
 public:
  SortRules(std::vector<Rule>& rules, const std::vector<SortCriterion>& sort,
            std::deque<SortCriterion>& custom)
      : rules_(rules), sort_(sort), custom_(custom) {}

  // False: the rule is none about sorting.
  bool Add(const index::RankingRule& rule) {
    switch (rule.kind) {
      case Kind::kSort:
        for (const SortCriterion& criterion : sort_) AddCriterion(criterion);
        return true;
      case Kind::kAscending:
      case Kind::kDescending: {
        SortCriterion criterion{};
        criterion.kind = SortCriterion::Kind::kField;
        criterion.field = rule.name;
        criterion.ascending = rule.kind == Kind::kAscending;
        custom_.push_back(criterion);
        AddCriterion(custom_.back());
        return true;
      }
      default: return false;
    }
  }

 private:
  void AddCriterion(const SortCriterion& criterion) {
    std::string name = criterion.field;
    if (criterion.kind == SortCriterion::Kind::kGeo) {
      name = criterion.label();
      name.resize(name.rfind(':'));
    }
    if (fields_.insert(name).second) rules_.push_back({RuleKind::kSort, false, &criterion});
  }

  std::vector<Rule>& rules_;
  const std::vector<SortCriterion>& sort_;
  std::deque<SortCriterion>& custom_;
  std::set<std::string> fields_;
};

}  // namespace

std::vector<Rule> RulesFor(const index::Settings& settings, const std::vector<SortCriterion>& sort,
                           bool has_terms, MatchingStrategy strategy,
                           std::deque<SortCriterion>& custom) {
  std::vector<Rule> rules;
  SortRules sorts(rules, sort, custom);
  const bool words = has_terms && strategy != MatchingStrategy::kAll;
  const auto has = [&](RuleKind kind, const CostRule* cost) {
    return std::any_of(rules.begin(), rules.end(),
                       [&](const Rule& rule) { return rule.kind == kind && rule.cost == cost; });
  };
  const auto add = [&](RuleKind kind, const CostRule* cost = nullptr, bool whole = false) {
    if (!has_terms) return;
    if (words && !has(RuleKind::kWords, nullptr)) rules.push_back({RuleKind::kWords});
    if (kind != RuleKind::kWords && !has(kind, cost)) rules.push_back({kind, whole, nullptr, cost});
  };
  for (const index::RankingRule& rule : settings.ranking_rules) {
    if (sorts.Add(rule)) continue;
    switch (rule.kind) {
      case Kind::kWords:
        if (words) add(RuleKind::kWords);
        break;
      case Kind::kTypo: add(RuleKind::kTypo); break;
      case Kind::kCost:
        if (const CostRule* cost = FindCostRule(rule.name)) add(RuleKind::kCost, cost);
        break;
      case Kind::kAttribute:
        add(RuleKind::kCost, &AttributeRankRule(), true);
        add(RuleKind::kCost, &WordPositionRule(), true);
        break;
      case Kind::kExactness:
        add(RuleKind::kExactAttribute);
        add(RuleKind::kCost, &ExactWordsRule());
        break;
      default: break;
    }
  }
  return rules;
}

std::vector<Rule> VectorRulesFor(const index::Settings& settings,
                                 const std::vector<SortCriterion>& sort,
                                 std::deque<SortCriterion>& custom) {
  std::vector<Rule> rules;
  SortRules sorts(rules, sort, custom);
  bool near = false;
  for (const index::RankingRule& rule : settings.ranking_rules) {
    if (sorts.Add(rule) || near) continue;
    rules.push_back({RuleKind::kVector});
    near = true;
  }
  return rules;
}

size_t ComparableVectorRules(const index::Settings& settings,
                             const std::vector<SortCriterion>& sort) {
  std::vector<Rule> rules;
  std::deque<SortCriterion> custom;
  SortRules sorts(rules, sort, custom);
  for (const index::RankingRule& rule : settings.ranking_rules) {
    if (sorts.Add(rule)) continue;
    const bool near = std::any_of(rules.begin(), rules.end(), [](const Rule& other) {
      return other.kind == RuleKind::kVector;
    });
    if (!near) {
      rules.push_back({RuleKind::kVector});
    } else if (rules.back().kind == RuleKind::kSort) {
      break;
    }
  }
  return rules.size();
}

}  // namespace gannet::search
