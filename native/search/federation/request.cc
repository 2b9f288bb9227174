#include "search/federation/request.h"

namespace gannet::search {

MergedWindow MergedWindow::FromJson(const json::Value& federation) {
  MergedWindow window;
  const json::Value &page = federation["page"], &per_page = federation["hitsPerPage"];
  PageMembers& asked = window.asked;
  asked.numbered = !page.is_null() || !per_page.is_null();
  if (!asked.numbered) {
    asked.offset = window.offset = federation["offset"].integer(asked.offset);
    asked.limit = window.limit = federation["limit"].integer(asked.limit);
    return window;
  }
  asked.page = page.integer(asked.page);
  asked.per_page = per_page.integer(asked.per_page);
  window.limit = asked.page == 0 ? 0 : asked.per_page;
  const uint64_t before = asked.page == 0 ? 0 : asked.page - 1;
  // Pages far after the end must not overflow.
  window.offset = asked.per_page != 0 && before > UINT64_MAX / asked.per_page
                      ? UINT64_MAX
                      : before * asked.per_page;
  return window;
}

FederatedRequest FederatedRequest::FromJson(const json::Value& object) {
  FederatedRequest request;
  const json::Value& federation = object["federation"];
  request.window = MergedWindow::FromJson(federation);
  if (federation["distinct"].is_string()) request.distinct = federation["distinct"].string();
  for (const auto& [uid, list] : federation["facetsByIndex"].members())
    request.facets_by_index.push_back({uid, list.Strings()});
  const json::Value& merge = federation["mergeFacets"];
  if (merge.is_object()) {
    const json::Value& most = merge["maxValuesPerFacet"];
    request.merge_facets =
        MergeFacets{most.is_null() ? std::nullopt : std::optional(most.integer())};
  }
  for (const json::Value& query : object["queries"].items()) {
    const json::Value& options = query["federationOptions"];
    request.queries.push_back({query["indexUid"].string(), options["weight"].number(1),
                               options["queryPosition"].integer(request.queries.size()),
                               SearchRequest::FromJson(query)});
  }
  request.other_indexes = object["otherIndexes"].Strings().value_or(std::vector<std::string>());
  request.for_merging = object["forMerging"].boolean(false);
  request.answer_bytes_max = object["responseBytesMax"].integer(UINT64_MAX);
  request.hit_spans = object["hitSpans"].boolean();
  if (object["requestUid"].is_string()) request.request_uid = object["requestUid"].string();
  if (object["metadata"].is_array()) request.metadata = object["metadata"].text();
  return request;
}

}  // namespace gannet::search
