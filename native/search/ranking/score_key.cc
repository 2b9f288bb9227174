#include "search/ranking/score_key.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gannet::search {
namespace {

// Below 0: the greater number a comes first.
int CompareNumbers(double a, double b) {
  // One step of a double at 1.0: products of the same ranks in another order may differ by so much.
  if (std::fabs(a - b) <= std::numeric_limits<double>::epsilon()) return 0;
  return a > b ? -1 : 1;
}

// Below 0: the longer list a comes first.
int CompareLengths(const ScoreKey& a, const ScoreKey& b) {
  if (a.components.size() == b.components.size()) return 0;
  return a.components.size() > b.components.size() ? -1 : 1;
}

RuleClass::Kind KindOf(const SortCriterion* sort) {
  using Kind = RuleClass::Kind;
  if (sort == nullptr) return Kind::kRelevancy;
  if (sort->kind == SortCriterion::Kind::kGeo)
    return sort->ascending ? Kind::kGeoAscending : Kind::kGeoDescending;
  return sort->ascending ? Kind::kAscending : Kind::kDescending;
}

}  // namespace

ScoreKey ScoreKey::Of(const Detail* detail, double weight) {
  ScoreKey list;
  list.global = ScoreOf(detail) * weight;
  double rank = 1, max = 1;
  bool open = false;  // the last part still takes ranks
  for (const Detail* entry : ChainOf(detail)) {
    if (entry->rule.kind == RuleKind::kSort) {
      list.components.push_back({entry->rule.sort, 0, &entry->value});
      open = false;
      continue;
    }
    if (entry->rule.kind == RuleKind::kVector) {
      list.components.emplace_back();
      list.components.back().relevancy =
          std::max(0.0, static_cast<double>(entry->similarity)) * weight;
      list.components.back().by_vector = true;
      open = false;
      continue;
    }
    if (entry->max == 0) continue;
    if (!open) {
      list.components.emplace_back();
      rank = max = 1;
      open = true;
    }
    rank = (rank - 1) * entry->max + entry->rank;
    max *= entry->max;
    list.components.back().relevancy = rank / max * weight;
  }
  return list;
}

int CompareScores(const ScoreKey& a, const ScoreKey& b, UnlikeParts unlike) {
  const size_t common = std::min(a.components.size(), b.components.size());
  for (size_t i = 0; i < common; ++i) {
    const ScoreKey::Component &left = a.components[i], &right = b.components[i];
    if (KindOf(left.sort) != KindOf(right.sort)) {
      const int lengths = unlike == UnlikeParts::kLengthDecides ? CompareLengths(a, b) : 0;
      return lengths != 0 ? lengths : CompareNumbers(a.global, b.global);
    }
    const int order = left.sort == nullptr
                          ? CompareNumbers(left.relevancy, right.relevancy)
                          : CompareSortValues(*left.value, *right.value, left.sort->ascending);
    if (order != 0) return order;
  }
  return CompareLengths(a, b);
}

int CompareHybridScores(const ScoreKey& a, const ScoreKey& b) {
  const size_t common = std::min(a.components.size(), b.components.size());
  for (size_t i = 0; i < common; ++i) {
    const ScoreKey::Component &left = a.components[i], &right = b.components[i];
    int order;
    if (left.sort == nullptr && right.sort == nullptr) {
      order = CompareNumbers(left.relevancy, right.relevancy);
    } else if (left.sort == nullptr) {
      order = left.relevancy == 0 ? 1 : -1;
    } else if (right.sort == nullptr) {
      order = right.relevancy == 0 ? -1 : 1;
    } else {
      order = CompareSortValues(*left.value, *right.value, left.sort->ascending);
    }
    if (order != 0) return order;
  }
  return CompareLengths(a, b);
}

std::vector<RuleClass> ClassesOf(const std::vector<Rule>& rules) {
  std::vector<RuleClass> classes;
  for (const Rule& rule : rules) {
    const RuleClass::Kind kind = KindOf(rule.kind == RuleKind::kSort ? rule.sort : nullptr);
    const bool relevancy = kind == RuleClass::Kind::kRelevancy;
    if (relevancy && !classes.empty() && classes.back().kind == kind) continue;
    classes.push_back({kind, relevancy ? "relevancy" : "`" + rule.sort->label() + "`"});
  }
  return classes;
}

}  // namespace gannet::search
