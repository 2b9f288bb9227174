#include "indexing/job/steps.h"

#include <utility>

#include "base/json_value.h"
#include "base/moment.h"
#include "index/expiry.h"

namespace gannet::indexing {
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

Result<std::string_view> CollectedSteps::BytesOf(const PayloadSource& source) {
  if (const auto* path = std::get_if<std::string>(&source)) {
    GANNET_ASSIGN_OR_RETURN(auto mapped, Payload::Map(*path));
    return payloads_.Hold(std::move(mapped));
  }
  const uint64_t buffer = std::get<uint64_t>(source);
  if (buffer >= buffers_.size()) return Status::Internal("a payload is missing");
  return buffers_[buffer];
}

Status CollectedSteps::Add(const DocumentsStep& step, StepOutcome& outcome) {
  GANNET_ASSIGN_OR_RETURN(const std::string_view bytes, BytesOf(step.payload));
  return operations_->AddDocuments(bytes, payloads_, step.ndjson, step.update, step.skip_creation,
                                   step.primary_key.value_or(""), step.primary_key.has_value(),
                                   outcome);
}

Status CollectedSteps::Add(const DeleteIdsStep& step, StepOutcome& outcome) {
  for (const std::string& id : step.ids) outcome.deleted += operations_->AddDeletion(id) ? 1 : 0;
  if (!step.payload) return Status::Ok();
  GANNET_ASSIGN_OR_RETURN(const std::string_view bytes, BytesOf(*step.payload));
  const json::Value ids = json::Value::Parse(bytes);
  for (const json::Value& id : ids.items())
    outcome.deleted += operations_->AddDeletion(id.string()) ? 1 : 0;
  return Status::Ok();
}

Status CollectedSteps::Add(const DeleteFilterStep& step, StepOutcome& outcome) {
  auto matched = evaluate_filter_(before_, step.filter);
  if (!matched.ok()) {
    const std::string& code = matched.status().detail();
    return Status(matched.status().code(), matched.status().message(),
                  code == "invalid_search_filter" ? "invalid_document_filter" : code);
  }
  Delete(std::move(*matched), outcome);
  return Status::Ok();
}

Status CollectedSteps::Add(const DeleteExpiredStep&, StepOutcome& outcome) {
  Delete(index::ExpiredAt(before_, UnixSeconds()), outcome);
  return Status::Ok();
}

void CollectedSteps::Delete(DocSet docids, StepOutcome& outcome) {
  docids = cleared_ ? DocSet() : docids - deleted_by_filter_;
  const auto& touched = operations_->touched();
  for (size_t i = 0; i < touched.size(); ++i) {
    const TouchedDocument& document = touched[i];
    if (document.stored) docids.Remove(document.docid);
  }
  outcome.deleted = docids.size();
  deleted_by_filter_ |= docids;
}

// Also drops what earlier steps of the batch collected.
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
  index::StoredSettings stored{std::string(step.settings), {}};
  for (const auto& [name, buffer] : step.long_values) {
    GANNET_ASSIGN_OR_RETURN(const std::string_view bytes, BytesOf(buffer));
    stored.long_values.emplace(name, bytes);
  }
  if (!settings_) settings_.emplace();
  settings_->stored = std::make_shared<const index::StoredSettings>(std::move(stored));
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
