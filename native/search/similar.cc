#include "search/similar.h"

#include "base/json.h"
#include "base/json_value.h"
#include "index/evaluate_filter.h"
#include "search/execute.h"

namespace gannet::search {
namespace {

Status OfSimilar(const Status& status) {
  return status.detail() == "invalid_search_filter"
             ? Status(status.code(), status.message(), "invalid_similar_filter")
             : status;
}

}  // namespace

Result<std::string> ExecuteSimilar(index::Index& index, std::string_view request_json,
                                   const Caller& caller) {
  const json::Value object = json::Value::Parse(request_json);
  GANNET_ASSIGN_OR_RETURN(SearchRequest request, SearchRequest::FromJson(object));
  request.gone = caller.gone;
  request.hidden_vectors = true;
  request.hybrid = Hybrid{object["embedder"].string(), 1, std::nullopt};
  const std::string& id = object["id"].string();
  GANNET_ASSIGN_OR_RETURN(auto ids, index.ReadExternalIds());
  std::optional<DocId> target = ids.Find(id);
  GANNET_RETURN_IF_ERROR(ids.health());
  const auto snapshot = index.snapshot();
  if (target && !snapshot->documents.Contains(*target)) target.reset();
  Deadline deadline = DeadlineOf(*snapshot, request);
  const json::Value& rule = object["tenantFilter"];
  if (target && !rule.is_null()) {
    // A document that the caller may not see does not exist.
    const filter::FilterFeatures features{request.contains_filter, request.multimodal};
    auto visible = index::EvaluateFilterJson(*snapshot, rule.text(), features, &deadline);
    if (!visible.ok()) return OfSimilar(visible.status());
    if (!visible->Contains(*target)) target.reset();
  }
  if (!target) {
    return Status::Invalid("The index has no document `" + id + "` to compare others with.",
                           "not_found_similar_id");
  }
  auto result = SearchRun::RunSimilar(snapshot, std::move(request), *target, &deadline);
  if (!result.ok()) return OfSimilar(result.status());
  SearchRun& run = **result;
  std::string out;
  out.reserve(16 << 10);
  out += "{\"hits\":[";
  bool first = true;
  for (const Hit& hit : run.hits()) {
    if (!first) out += ',';
    first = false;
    GANNET_RETURN_IF_ERROR(run.AppendHit(hit, {}, out));
    GANNET_RETURN_IF_ERROR(CheckAnswerSize(out, run.request().answer_bytes_max));
  }
  out += "],\"id\":";
  AppendJsonString(out, id);
  out += ",\"processingTimeMs\":";
  AppendJsonNumber(out, (MonotonicMicroseconds() - caller.started_us) / 1000);
  out += ",\"limit\":";
  AppendJsonNumber(out, run.request().limit);
  out += ",\"offset\":";
  AppendJsonNumber(out, run.request().offset);
  out += ",\"estimatedTotalHits\":";
  AppendJsonNumber(out, run.total());
  out += '}';
  GANNET_RETURN_IF_ERROR(run.snapshot().Health());
  return out;
}

}  // namespace gannet::search
