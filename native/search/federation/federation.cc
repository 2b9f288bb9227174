#include "search/federation/federation.h"

#include <atomic>
#include <utility>

#include "base/parallel_for.h"
#include "search/execute.h"
#include "search/hybrid.h"

namespace gannet::search {
namespace {

// Changes the request of a query to return the list that merging may need.
// all  every hit, whatever the page
void WantList(const FederatedRequest& federated, bool all, SearchRequest& request) {
  const MergedWindow& window = federated.window;
  request.facets.clear();
  request.response_bytes_max = request.format.bytes_max = federated.response_bytes_max;
  // A whole list has the same totals for every page.
  if (!all || window.requested.numbered)
    request.first_page = federated.first_page.value_or(window.limit);
  const uint64_t end = all ? UINT64_MAX : window.limit == 0 ? 0 : window.end();
  request.page =
      window.requested.numbered ? PageMembers::Numbered(1, end) : PageMembers{.limit = end};
  if (federated.distinct) request.distinct = federated.distinct;
}

Status CheckDistinct(const FederatedRequest& request, const Federation& federation) {
  if (!request.distinct) return Status::Ok();
  for (const auto& [uid, index] : federation.indexes) {
    if (index.queries.empty()) continue;
    const index::Settings& settings = *index.snapshot->settings;
    const auto rule = settings.Filterable(*request.distinct);
    if (rule && rule->first.filterable()) continue;
    return Status::Invalid("The attribute `" + *request.distinct +
                               "` is not filterable in the index `" + uid + "`. " +
                               settings.FilterableText(),
                           "invalid_search_distinct")
        .At({.path = "federation.distinct"});
  }
  return Status::Ok();
}

// The status of the first query that failed.
Status FirstFault(const Federation& federation) {
  for (size_t i = 0; i < federation.queries.size(); ++i) {
    const FederatedQuery& query = federation.queries[i];
    if (!query.status.ok()) return query.status.At({.query = i, .index = query.uid});
  }
  return Status::Ok();
}

}  // namespace

Result<Federation> PlanFederation(const FederatedRequest& request,
                                  std::span<index::Index* const> indexes,
                                  const CancelFlag& cancelled) {
  const size_t count = request.queries.size();
  if (indexes.size() != count + request.other_indexes.size())
    return Status::Internal("an index is missing");
  Federation federation;
  // Find pins before taking any snapshot.
  for (size_t i = 0; i < count; ++i) {
    const FederatedRequest::Query& wanted = request.queries[i];
    FederatedQuery query{wanted.uid, wanted.weight, wanted.position, wanted.search, {}, {}, {}, {}};
    GANNET_ASSIGN_OR_RETURN(query.pins, FindPins(*indexes[i], query.request.pins));
    query.request.cancelled = cancelled;
    federation.queries.push_back(std::move(query));
  }
  const auto add = [&](const std::string& uid, index::Index* index) -> SearchedIndex& {
    SearchedIndex& searched = federation.indexes[uid];
    if (!searched.snapshot) searched.snapshot = index->present();
    return searched;
  };
  // A document that a later step drops is replaced by another, from any position of a list. Totals
  // of pages count all of these: which documents stay depends on the order.
  const bool all = request.distinct && (count > 1 || request.window.requested.numbered);
  for (size_t i = 0; i < count; ++i) {
    FederatedQuery& query = federation.queries[i];
    SearchedIndex& searched = add(query.uid, indexes[i]);
    searched.queries.push_back(static_cast<uint32_t>(i));
    query.snapshot = searched.snapshot;
    ApplyCutoff(*query.snapshot, query.request);
    const bool exact_hybrid =
        query.request.kind() == SearchKind::kHybrid &&
        (request.window.requested.numbered || query.request.hybrid->min_score);
    const bool distinct =
        request.distinct || query.request.distinct || query.snapshot->settings->distinct;
    WantList(request, all || ((request.counts_values() || exact_hybrid) && distinct),
             query.request);
  }
  for (size_t i = 0; i < request.other_indexes.size(); ++i)
    add(request.other_indexes[i], indexes[count + i]);
  for (const auto& [uid, facets, automatic] : request.facets_by_index) {
    const auto found = federation.indexes.find(uid);
    if (found == federation.indexes.end()) continue;
    found->second.automatic_facets = automatic;
    found->second.facets = automatic ? std::vector<std::string>() : facets;
  }
  GANNET_RETURN_IF_ERROR(CheckDistinct(request, federation));
  return federation;
}

Status RunQueries(Federation& federation) {
  std::atomic<size_t> first_failed{SIZE_MAX};
  ParallelFor(federation.queries.size(), [&](size_t i) {
    // Results after a failure are not used.
    if (i > first_failed.load()) return;
    FederatedQuery& query = federation.queries[i];
    if (query.status.ok()) {
      auto run = RunSearch(query.snapshot, std::move(query.request), true);
      if (run.ok()) {
        query.run = std::move(*run);
        return;
      }
      query.status = run.status();
    }
    size_t known = first_failed.load();
    while (i < known && !first_failed.compare_exchange_weak(known, i)) {
    }
  });
  return FirstFault(federation);
}

Location LocationOfFacets(const std::string& uid) {
  return {.path = "federation.facetsByIndex." + uid};
}

}  // namespace gannet::search
