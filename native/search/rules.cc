#include "search/rules.h"

#include <algorithm>
#include <set>
#include <string>

namespace gannet::search {

std::vector<Rule> RulesFor(const index::Settings& settings, const std::vector<SortCriterion>& sort, bool has_terms,
                           MatchingStrategy strategy, std::deque<SortCriterion>& custom) {
  using Kind = index::RankingRule::Kind;
  std::vector<Rule> rules;
  std::set<std::string> sorted_fields;
  const bool words = has_terms && strategy != MatchingStrategy::kAll;
  const auto has = [&](RuleKind kind) {
    return std::any_of(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.kind == kind; });
  };
  const auto add_sort = [&](const SortCriterion& criterion) {
    std::string name = criterion.field;
    if (criterion.kind == SortCriterion::Kind::kGeo) {
      name = criterion.label();
      name.resize(name.rfind(':'));
    }
    if (sorted_fields.insert(name).second) rules.push_back({RuleKind::kSort, false, &criterion});
  };
  const auto add = [&](RuleKind kind, bool whole = false) {
    if (!has_terms) return;
    if (words && !has(RuleKind::kWords)) rules.push_back({RuleKind::kWords});
    if (kind != RuleKind::kWords && !has(kind)) rules.push_back({kind, whole});
  };
  for (const index::RankingRule& rule : settings.ranking_rules) {
    switch (rule.kind) {
      case Kind::kWords:
        if (words) add(RuleKind::kWords);
        break;
      case Kind::kTypo: add(RuleKind::kTypo); break;
      case Kind::kProximity: add(RuleKind::kProximity); break;
      case Kind::kAttribute:
        add(RuleKind::kAttributeRank, true);
        add(RuleKind::kWordPosition, true);
        break;
      case Kind::kAttributeRank: add(RuleKind::kAttributeRank); break;
      case Kind::kWordPosition: add(RuleKind::kWordPosition); break;
      case Kind::kExactness:
        add(RuleKind::kExactAttribute);
        add(RuleKind::kExactWords);
        break;
      case Kind::kSort:
        for (const SortCriterion& criterion : sort) add_sort(criterion);
        break;
      case Kind::kAscending:
      case Kind::kDescending: {
        SortCriterion criterion{};
        criterion.kind = SortCriterion::Kind::kField;
        criterion.field = rule.field;
        criterion.ascending = rule.kind == Kind::kAscending;
        custom.push_back(criterion);
        add_sort(custom.back());
        break;
      }
    }
  }
  return rules;
}

}  // namespace gannet::search
