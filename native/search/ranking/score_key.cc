#include "search/ranking/score_key.h"

#include <algorithm>

#include "search/ranking/score_details.h"

namespace gannet::search {
namespace {

// Negative: a is longer and comes first.
int CompareLengths(const ScoreKey& a, const ScoreKey& b) {
  if (a.parts.size() == b.parts.size()) return 0;
  return a.parts.size() > b.parts.size() ? -1 : 1;
}

}  // namespace

ScoreKey ScoreKey::Of(const Detail* detail, double weight) {
  ScoreKey list;
  list.global = ScoreOf(detail) * weight;
  double rank = 1, max = 1;
  bool open = false;  // whether the last part can still be extended by ranks
  for (const Detail* entry : ChainOf(detail)) {
    if (const auto own = entry->rule->PartOf(*entry, weight)) {
      list.parts.push_back(*own);
      open = false;
      continue;
    }
    if (entry->max == 0) continue;
    if (!open) {
      list.parts.push_back({entry->rule});
      rank = max = 1;
      open = true;
    }
    rank = (rank - 1) * entry->max + entry->rank;
    max *= entry->max;
    list.parts.back().number = rank / max * weight;
  }
  return list;
}

int CompareScores(const ScoreKey& a, const ScoreKey& b, UnlikeParts unlike) {
  const size_t common = std::min(a.parts.size(), b.parts.size());
  for (size_t i = 0; i < common; ++i) {
    const ScorePart &left = a.parts[i], &right = b.parts[i];
    if (left.rule != right.rule && left.rule->compared_as() != right.rule->compared_as()) {
      const int lengths = unlike == UnlikeParts::kLengthDecides ? CompareLengths(a, b) : 0;
      return lengths != 0 ? lengths : CompareNumbers(a.global, b.global);
    }
    if (const int order = left.rule->Compare(left, right); order != 0) return order;
  }
  return CompareLengths(a, b);
}

int CompareHybridScores(const ScoreKey& a, const ScoreKey& b) {
  const size_t common = std::min(a.parts.size(), b.parts.size());
  for (size_t i = 0; i < common; ++i) {
    const ScorePart &left = a.parts[i], &right = b.parts[i];
    int order;
    if ((left.value == nullptr) == (right.value == nullptr)) {
      order = left.rule->Compare(left, right);
    } else if (left.value == nullptr) {
      order = left.number == 0 ? 1 : -1;
    } else {
      order = right.number == 0 ? -1 : 1;
    }
    if (order != 0) return order;
  }
  return CompareLengths(a, b);
}

std::vector<RuleClass> ClassesOf(const Rules& rules) {
  std::vector<RuleClass> classes;
  for (const auto& rule : rules) {
    const std::string_view kind = rule->compared_as();
    if (kind == RankingRule::kRelevancy && !classes.empty() && classes.back().kind == kind)
      continue;
    classes.push_back({kind, rule->label()});
  }
  return classes;
}

}  // namespace gannet::search
