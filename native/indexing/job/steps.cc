#include "indexing/job/steps.h"

#include <utility>

#include "base/json_value.h"

namespace gannet::indexing {
namespace {

DocumentsStep DocumentsOf(const json::Value& step) {
  const json::Value& payload = step["payload"];
  DocumentsStep out;
  if (payload["file"].is_string()) {
    out.payload = payload["file"].string();
  } else {
    out.payload = payload["buffer"].integer();
  }
  out.ndjson = step["format"].string() == "ndjson";
  out.update = step["method"].string() == "update";
  out.skip_creation = step["skipCreation"].boolean();
  if (step["primaryKey"].is_string()) out.primary_key = step["primaryKey"].string();
  return out;
}

DeleteIdsStep DeleteIdsOf(const json::Value& step) {
  DeleteIdsStep out;
  for (const json::Value& id : step["ids"].items()) out.ids.push_back(id.string());
  return out;
}

SettingsStep SettingsOf(const json::Value& step) {
  SettingsStep out{step["settings"].text(), {}};
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
    out.tasks.push_back({step["task"].integer(), std::move(typed)});
  }
  return out;
}

CollectedSteps::CollectedSteps(const index::Snapshot& before, index::Index::ExternalIds& ids,
                               std::span<const std::string_view> buffers,
                               const FilterEvaluator& evaluate_filter)
    : before_(before),
      ids_(ids),
      buffers_(buffers),
      evaluate_filter_(evaluate_filter),
      operations_(std::make_unique<Operations>(before, ids, deleted_by_filter_, false)) {}

Status CollectedSteps::Add(const BatchStep& step, StepOutcome& outcome) {
  return std::visit([&](const auto& typed) { return Add(typed, outcome); }, step);
}

Status CollectedSteps::Add(const DocumentsStep& step, StepOutcome& outcome) {
  std::string_view bytes;
  if (const auto* path = std::get_if<std::string>(&step.payload)) {
    GANNET_ASSIGN_OR_RETURN(auto mapped, Payload::Map(*path));
    bytes = payloads_.Hold(std::move(mapped));
  } else {
    const uint64_t buffer = std::get<uint64_t>(step.payload);
    if (buffer >= buffers_.size()) return Status::Internal("a payload is missing");
    bytes = buffers_[buffer];
  }
  return operations_->AddDocuments(bytes, payloads_, step.ndjson, step.update, step.skip_creation,
                                   step.primary_key.value_or(""), step.primary_key.has_value(),
                                   outcome);
}

Status CollectedSteps::Add(const DeleteIdsStep& step, StepOutcome& outcome) {
  for (const std::string& id : step.ids) outcome.deleted += operations_->AddDeletion(id) ? 1 : 0;
  return Status::Ok();
}

Status CollectedSteps::Add(const DeleteFilterStep& step, StepOutcome& outcome) {
  auto matched = evaluate_filter_(before_, step.filter);
  if (!matched.ok()) {
    const std::string& code = matched.status().detail();
    return Status(matched.status().code(), matched.status().message(),
                  code == "invalid_search_filter" ? "invalid_document_filter" : code);
  }
  DocSet docids = cleared_ ? DocSet() : *matched - deleted_by_filter_;
  const auto& touched = operations_->touched();
  for (size_t i = 0; i < touched.size(); ++i) {
    const TouchedDocument& document = touched[i];
    if (document.stored) docids.Remove(document.docid);
  }
  outcome.deleted = docids.size();
  deleted_by_filter_ |= docids;
  return Status::Ok();
}

// What came before in this batch is gone as well.
Status CollectedSteps::Add(const ClearStep&, StepOutcome& outcome) {
  outcome.deleted = cleared_ ? 0 : before_.documents.size();
  cleared_ = true;
  deleted_by_filter_.Clear();
  auto fresh = std::make_unique<Operations>(before_, ids_, deleted_by_filter_, true);
  fresh->primary_key = operations_->primary_key;
  fresh->has_primary_key = operations_->has_primary_key;
  operations_ = std::move(fresh);
  return Status::Ok();
}

Status CollectedSteps::Add(const SettingsStep& step, StepOutcome&) {
  if (!settings_) settings_.emplace();
  settings_->settings = step.settings;
  for (const auto& [name, remake] : step.remakes) settings_->remakes[name] = remake;
  return Status::Ok();
}

Status CollectedSteps::Add(const PrimaryKeyStep& step, StepOutcome&) {
  const std::string& key = step.primary_key;
  if (before_.has_primary_key && before_.primary_key != key && !before_.documents.empty()) {
    return Status::Invalid("The index has documents under the primary key `" + before_.primary_key +
                               "`; `" + key + "` cannot replace it.",
                           "index_primary_key_already_exists");
  }
  operations_->primary_key = key;
  operations_->has_primary_key = true;
  return Status::Ok();
}

}  // namespace gannet::indexing
