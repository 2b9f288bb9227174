#include "search/ranking/score_details.h"

#include <algorithm>
#include <utility>

#include "base/json.h"

namespace gannet::search {

namespace {

// R and M of docs/behaviour/scores.md.
std::pair<double, double> RankOf(const Detail* detail) {
  double rank = 1, max = 1;
  for (const Detail* part : ChainOf(detail)) {
    if (part->max == 0) continue;
    rank = (rank - 1) * part->max + part->rank;
    max *= part->max;
  }
  return {rank, max};
}

// The rule kVector of a chain; null: it has none.
const Detail* VectorOf(const Detail* detail) {
  while (detail != nullptr && detail->rule.kind != RuleKind::kVector) detail = detail->previous;
  return detail;
}

double SimilarityOf(const Detail& detail) { return std::max(0.0, static_cast<double>(detail.similarity)); }

}  // namespace

bool HasVector(const Detail* detail) { return VectorOf(detail) != nullptr; }

double ScoreOf(const Detail* detail) {
  if (const Detail* near = VectorOf(detail)) return SimilarityOf(*near);
  const auto [rank, max] = RankOf(detail);
  return rank / max;
}

// A rule says rank 0 or more, which leaves of a rank what is below it.
double ScoreAtLeast(const Detail* detail) {
  if (const Detail* near = VectorOf(detail)) return SimilarityOf(*near);
  const auto [rank, max] = RankOf(detail);
  return (rank - 1) / max;
}

std::vector<const Detail*> ChainOf(const Detail* detail) {
  std::vector<const Detail*> chain;
  for (; detail != nullptr; detail = detail->previous) chain.push_back(detail);
  std::reverse(chain.begin(), chain.end());
  return chain;
}

void AppendScoreDetails(const Detail* detail, const index::Snapshot& snapshot, std::string& out) {
  const auto chain = ChainOf(detail);
  out += '{';
  uint64_t order = 0;
  bool first = true;
  const auto begin = [&](std::string_view key) {
    if (!first) out += ',';
    first = false;
    AppendJsonString(out, key);
    out += ":{\"order\":";
    AppendJsonNumber(out, order);
    ++order;
  };
  const auto number = [&](const char* key, double value) {
    out += ",\"";
    out += key;
    out += "\":";
    AppendJsonNumber(out, value);
  };
  const auto score = [&](double value, const char* key = "score") {
    out += ",\"";
    out += key;
    out += "\":";
    AppendJsonFloat(out, value);
  };
  const auto share = [](const Detail& d) { return static_cast<double>(d.rank) / d.max; };
  const auto merged = [](const Detail& a, const Detail& b) {
    return ((a.rank - 1.0) * b.max + b.rank) / (static_cast<double>(a.max) * b.max);
  };
  for (size_t i = 0; i < chain.size(); ++i) {
    const Detail& d = *chain[i];
    const Detail* next = i + 1 < chain.size() ? chain[i + 1] : nullptr;
    switch (d.rule.kind) {
      case RuleKind::kWords:
        begin("words");
        number("matchingWords", d.rank);
        number("maxMatchingWords", d.max);
        score(share(d));
        break;
      case RuleKind::kTypo:
        begin("typo");
        number("typoCount", d.max - d.rank);
        number("maxTypoCount", d.max - 1);
        score(share(d));
        break;
      case RuleKind::kProximity:
        begin("proximity");
        score(share(d));
        break;
      case RuleKind::kAttributeRank:
        begin(d.rule.whole_attribute ? "attribute" : "attributeRank");
        if (!d.rule.whole_attribute) {
          score(share(d));
        } else if (next != nullptr && next->rule.kind == RuleKind::kWordPosition) {
          score(share(d), "attributeRankingOrderScore");
          score(share(*next), "queryWordDistanceScore");
          score(merged(d, *next));
        } else {
          score(share(d), "attributeRankingOrderScore");
          score(share(d));
        }
        break;
      case RuleKind::kWordPosition:
        if (d.rule.whole_attribute && i > 0 && chain[i - 1]->rule.kind == RuleKind::kAttributeRank) continue;
        begin("wordPosition");
        score(share(d));
        break;
      case RuleKind::kExactAttribute: {
        begin("exactness");
        static constexpr const char* kNames[] = {"exactMatch", "matchesStart", "noExactMatch"};
        out += ",\"matchType\":\"";
        out += kNames[static_cast<int>(d.match)];
        out += '"';
        const bool words = next != nullptr && next->rule.kind == RuleKind::kExactWords;
        if (d.match == MatchType::kNoExactMatch && words) {
          number("matchingWords", next->rank - 1);
          number("maxMatchingWords", next->max - 1);
          score(merged(d, *next));
        } else {
          score(share(d));
        }
        break;
      }
      case RuleKind::kExactWords: continue;
      case RuleKind::kVector:
        begin("vectorSort");
        if (d.similarity < 0) {
          out += ",\"similarity\":null";
        } else {
          number("similarity", static_cast<double>(d.similarity));
        }
        break;
      case RuleKind::kSkipped: begin("skipped"); break;
      case RuleKind::kSort: {
        const SortCriterion& sort = *d.rule.sort;
        const bool hidden = sort.kind == SortCriterion::Kind::kField && !snapshot.settings->Displays(sort.field);
        if (hidden) {
          begin("<hidden-rule-" + std::to_string(order) + ">");
          out += ",\"value\":\"<hidden>\"";
        } else {
          begin(sort.label());
          out += ',';
          AppendSortValueJson(d.value, out);
        }
        break;
      }
    }
    out += '}';
  }
  out += '}';
}

}  // namespace gannet::search
