#include "search/federation/comparable_rules.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "search/ranking/rules.h"
#include "search/ranking/score_key.h"
#include "search/ranking/sort.h"
#include "text/normalize.h"

namespace gannet::search {
namespace {

using Classes = std::vector<RuleClass>;

// The lists of rules that order the hits of a query; a hybrid query has those of both halves.
std::vector<Classes> ListsOf(const SearchRequest& request, const index::Snapshot& snapshot,
                             const std::vector<SortCriterion>& sort) {
  const index::Settings& settings = *snapshot.settings;
  std::vector<Classes> lists;
  if (request.kind() != SearchKind::kSemantic) {
    const MatchingStrategy strategy = request.StrategyOf(settings);
    // A text of which no term is left, as while it is typed, is ordered like one that has terms.
    const size_t terms = text::TrimWhiteSpace(request.q).empty() ? 0 : 1;
    lists.push_back(ClassesOf(
        RulesFor({.settings = settings, .sort = sort, .terms = terms, .strategy = strategy})));
  }
  if (request.kind() != SearchKind::kWords) {
    lists.push_back(ClassesOf(
        RulesFor({.settings = settings, .sort = sort, .by_vectors = true, .compared = true})));
  }
  // Fusion by rank takes the place of all rules from the first relevancy rule on.
  if (request.kind() == SearchKind::kHybrid && request.FusionOf(settings) == Fusion::kRrf) {
    for (Classes& classes : lists) {
      const auto fused = std::find_if(classes.begin(), classes.end(), [](const RuleClass& one) {
        return one.kind == RankingRule::kRelevancy;
      });
      if (fused != classes.end()) classes.erase(fused + 1, classes.end());
    }
  }
  return lists;
}

struct List {
  uint32_t query = 0;
  Classes classes;
};

Status Compare(const List& list, const List& longest) {
  const size_t common = std::min(list.classes.size(), longest.classes.size());
  for (size_t i = 0; i < common; ++i) {
    if (list.classes[i].kind == longest.classes[i].kind) continue;
    const std::string message =
        "The results cannot be compared with those of `.queries[" + std::to_string(longest.query) +
        "]`: they are ordered by " + list.classes[i].name + " where the others are ordered by " +
        longest.classes[i].name + ". Use the same kinds of ranking rules and the same directions " +
        "of sort in the same order, or separate searches.";
    return Status::Invalid(message, "invalid_multi_search_query_ranking_rules")
        .At({.query = list.query});
  }
  return Status::Ok();
}

}  // namespace

Status CheckRules(const Federation& federation) {
  List longest;
  for (const auto& [uid, index] : federation.indexes) {
    for (const uint32_t number : index.queries) {
      const SearchRequest& request = federation.queries[number].request;
      const auto sort =
          ParseSort(request.sort, *index.snapshot->settings, "invalid_search_sort", true);
      if (!sort.ok()) continue;  // running the query reports the same error later
      for (Classes& classes : ListsOf(request, *index.snapshot, *sort)) {
        List list{number, std::move(classes)};
        GANNET_RETURN_IF_ERROR(Compare(list, longest));
        if (list.classes.size() > longest.classes.size()) longest = std::move(list);
      }
    }
  }
  return Status::Ok();
}

}  // namespace gannet::search
