#include "indexing/job/batch_job.h"

#include <algorithm>
#include <utility>

#include "base/json_value.h"

namespace gannet::indexing {
namespace {

PayloadSource SourceOf(const json::Value& payload) {
  if (payload["file"].is_string()) return payload["file"].string();
  return payload["buffer"].integer();
}

DocumentsStep DocumentsOf(const json::Value& step) {
  DocumentsStep out;
  out.payload = SourceOf(step["payload"]);
  out.ndjson = step["format"].string() == "ndjson";
  out.update = step["method"].string() == "update";
  out.skip_creation = step["skipCreation"].boolean();
  if (step["primaryKey"].is_string()) out.primary_key = step["primaryKey"].string();
  return out;
}

DeleteIdsStep DeleteIdsOf(const json::Value& step) {
  DeleteIdsStep out;
  for (const json::Value& id : step["ids"].items()) out.ids.push_back(id.string());
  if (step.Has("payload")) out.payload = SourceOf(step["payload"]);
  return out;
}

SettingsStep SettingsOf(const json::Value& step) {
  SettingsStep out{step["settings"].text(), {}, {}};
  for (const auto& [name, buffer] : step["long"].members())
    out.long_values[name] = buffer.integer();
  for (const auto& [name, change] : step["embeddings"].members()) {
    out.remakes[name] = change.string() == "all" ? Remake::kAll : Remake::kChanged;
  }
  return out;
}

Result<BatchStep> StepOf(const json::Value& step) {
  const std::string& kind = step["kind"].string();
  if (kind == "documents") return BatchStep(DocumentsOf(step));
  if (kind == "deleteIds") return BatchStep(DeleteIdsOf(step));
  if (kind == "deleteFilter") return BatchStep(DeleteFilterStep{step["filter"].text()});
  if (kind == "deleteExpired") return BatchStep(DeleteExpiredStep{});
  if (kind == "clear") return BatchStep(ClearStep{});
  if (kind == "settings") return BatchStep(SettingsOf(step));
  if (kind == "primaryKey") return BatchStep(PrimaryKeyStep{step["primaryKey"].string()});
  return Status::Internal("a step of unknown kind");
}

}  // namespace

Result<BatchJob> BatchJob::Parse(std::string_view text) {
  const json::Value job = json::Value::Parse(text);
  BatchJob out{job["batchUid"].integer(), job["taskUids"].text(), job["now"].string(), {}};
  for (const json::Value& step : job["steps"].items()) {
    GANNET_ASSIGN_OR_RETURN(BatchStep typed, StepOf(step));
    out.steps.push_back({step["task"].integer(), std::move(typed)});
  }
  return out;
}

bool BatchJob::ChangesSettings() const {
  return std::any_of(steps.begin(), steps.end(), [](const TaskStep& step) {
    return std::holds_alternative<SettingsStep>(step.step);
  });
}

}  // namespace gannet::indexing
