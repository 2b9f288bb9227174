#include "search/similar.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_value.h"
#include "base/stage_clock.h"
#include "index/evaluate_filter.h"
#include "search/allowed_documents.h"
#include "search/response.h"
#include "search/hybrid.h"
#include "search/page.h"
#include "search/ranking/rules.h"
#include "search/vectors/stored_vectors.h"

namespace gannet::search {
namespace {

// The first passages of a document that others are compared with.
constexpr size_t kPassagesMax = 16;

Status OfSimilar(const Status& status) {
  return status.detail() == "invalid_search_filter"
             ? Status(status.code(), status.message(), "invalid_similar_filter")
             : status;
}

// The document to compare with. A document that the caller may not see does not exist.
// found    result of looking up the external id, from before the snapshot was taken
// visible  JSON of a filter that the document must match; null: none
Result<std::optional<DocId>> VisibleTarget(const index::Snapshot& snapshot,
                                           std::optional<DocId> found, const json::Value& visible,
                                           const filter::FilterFeatures& features,
                                           Deadline& deadline) {
  if (!found || !snapshot.documents.Contains(*found)) return std::optional<DocId>();
  if (visible.is_null()) return found;
  InStage stage("filter");
  GANNET_ASSIGN_OR_RETURN(const DocSet documents,
                          index::EvaluateFilterJson(snapshot, visible.text(), features, &deadline));
  return documents.Contains(*found) ? found : std::nullopt;
}

Result<SearchResponse> WriteSimilarResponse(const SearchRun& run, const std::string& id,
                                            const Caller& caller) {
  InStage stage("write");
  Page page(run.request().response_bytes_max);
  page.text += "{\"hits\":[";
  GANNET_RETURN_IF_ERROR(AppendHits(run, InsertPins(run.hits(), {}, run.window()), page));
  page.rest += ",\"id\":";
  AppendJsonString(page.rest, id);
  page.head.total_hits = run.total();
  SetTimes(caller, CutoffMs(run.snapshot()), page.head);
  AppendNumber("processingTimeMs", page.head.processing_time_ms, page.rest);
  AppendPage(run.request().page, run.total(), page.rest);
  GANNET_RETURN_IF_ERROR(run.snapshot().Health());
  return Page::Finish(std::move(page), run.request().keeps_page);
}

}  // namespace

Result<std::unique_ptr<SearchRun>> RunSimilar(std::shared_ptr<const index::Snapshot> of,
                                              SearchRequest request, DocId target,
                                              const Deadline& deadline) {
  auto list = std::make_unique<RankedList>(std::move(of), deadline);
  const index::Snapshot& snapshot = *list->snapshot;
  const uint64_t total_max = snapshot.settings->max_total_hits;
  const Window window = request.page.Positions(total_max);
  GANNET_ASSIGN_OR_RETURN(
      const index::EmbedderSettings* embedder,
      EmbedderOf(*snapshot.settings, request.hybrid->embedder, "invalid_similar_embedder"));
  GANNET_ASSIGN_OR_RETURN(list->candidates, MatchingFilter(snapshot, request, list->deadline));
  list->candidates.Remove(target);
  InStage stage("vectors");
  GANNET_ASSIGN_OR_RETURN(auto embeddings, ReadEmbeddings(snapshot, *embedder, target));
  const bool known = !embeddings.empty();
  // The n-th passages of two documents have nothing in common, so each is compared with all.
  const bool paired = embedder->chunked.empty();
  if (!paired && embeddings.size() > kPassagesMax) embeddings.resize(kPassagesMax);
  list->scan = std::make_unique<VectorScan>(snapshot, *embedder, std::move(embeddings),
                                            ScanOptions{.paired = paired, .deadline = deadline});
  list->options.offset = window.begin;
  list->options.end = window.end;
  list->options.threshold = request.threshold;
  list->options.details = request.show_score || request.show_details || request.threshold;
  list->options.deadline = &list->deadline;
  Rules rules;
  kVectorRule.add({}, {.settings = *snapshot.settings, .sort = {}, .scan = list->scan.get()},
                  rules);
  list->ranker = std::make_unique<Ranker>(snapshot, nullptr, list->query, list->options,
                                          std::move(rules), nullptr);
  if (known) {
    DocSet embedded = list->scan->Embedded(list->candidates);
    const DocSet excluded_with = list->candidates - embedded;
    list->ranker->Run(std::move(embedded));
    if (!list->ranker->excluded().empty()) {
      list->candidates -= list->ranker->excluded();
      list->candidates -= excluded_with;
    }
  }
  list->total = std::min<uint64_t>(list->candidates.size(), total_max);
  GANNET_RETURN_IF_ERROR(snapshot.Health());
  return std::make_unique<SearchRun>(std::move(request), window, std::move(list));
}

Result<SearchResponse> ExecuteSimilar(index::Index& index, std::string_view request_json,
                                      const Caller& caller) {
  InStage stage("parse");
  const json::Value object = json::Value::Parse(request_json);
  GANNET_ASSIGN_OR_RETURN(SearchRequest request, SearchRequest::FromJson(object));
  GANNET_ASSIGN_OR_RETURN(request.page, PageMembers::FromJson(object));
  request.cancelled = caller.cancelled;
  request.hidden_vectors = true;
  request.hybrid = Hybrid{object["embedder"].string(), 1, std::nullopt};
  const std::string& id = object["id"].string();
  GANNET_ASSIGN_OR_RETURN(auto ids, index.ReadExternalIds());
  const std::optional<DocId> found = ids.Find(id);
  GANNET_RETURN_IF_ERROR(ids.health());
  const auto snapshot = index.present();
  Deadline deadline = DeadlineOf(*snapshot, request);
  stage.End();
  const auto target = VisibleTarget(*snapshot, found, object["tenantFilter"],
                                    {request.contains_filter, request.multimodal}, deadline);
  if (!target.ok()) return OfSimilar(target.status());
  if (!*target) {
    return Status::Invalid("The index has no document `" + id + "` to compare others with.",
                           "not_found_similar_id");
  }
  const auto run = RunSimilar(snapshot, std::move(request), **target, deadline);
  if (!run.ok()) return OfSimilar(run.status());
  return WriteSimilarResponse(**run, id, caller);
}

}  // namespace gannet::search
