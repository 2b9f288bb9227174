#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/memory.h"
#include "indexing/job.h"
#include "indexing/job/batch.h"
#include "indexing/job/documents.h"
#include "indexing/job/settings.h"
#include "indexing/job/steps.h"

namespace gannet::indexing {
namespace {

// The result as JSON: BatchOutcome of src/engine/native.ts.
std::string OutcomeJson(const BatchJob& job, const std::vector<StepOutcome>& outcomes,
                        uint64_t documents) {
  std::string out = "{\"results\":[";
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const auto& [task, step] = job.steps[i];
    const StepOutcome& outcome = outcomes[i];
    if (i > 0) out += ',';
    out += "{\"task\":";
    AppendJsonNumber(out, task);
    if (!outcome.status.ok()) {
      out += ",\"error\":{\"code\":";
      AppendJsonString(out, outcome.status.detail().empty() ? "internal" : outcome.status.detail());
      out += ",\"message\":";
      AppendJsonString(out, outcome.status.message());
      out += '}';
    } else if (std::holds_alternative<DocumentsStep>(step)) {
      out += ",\"indexedDocuments\":";
      AppendJsonNumber(out, outcome.indexed);
    } else if (!std::holds_alternative<SettingsStep>(step) &&
               !std::holds_alternative<PrimaryKeyStep>(step)) {
      out += ",\"deletedDocuments\":";
      AppendJsonNumber(out, outcome.deleted);
    }
    out += '}';
  }
  out += "],\"numberOfDocuments\":";
  AppendJsonNumber(out, documents);
  out += '}';
  return out;
}

// Updates the commit after merges since the job began, which may have moved documents; their docids
// have not changed. Returns the number of documents after the commit.
Result<uint64_t> FollowMerges(const index::Snapshot& now, const DocSet& written,
                              index::Commit& commit) {
  if (!commit.removed.empty()) {
    commit.removed.clear();
    for (const auto& segment : now.segments) commit.removed.push_back(segment->files.id);
  }
  for (const auto& [id, file] : commit.columns) {
    const auto same = [segment = id](const auto& s) { return s->files.id == segment; };
    if (std::none_of(now.segments.begin(), now.segments.end(), same)) {
      return Status::Internal("a segment was merged while its columns were built");
    }
  }
  DocSet after = commit.clear ? DocSet() : now.documents - commit.dead;
  after |= written;
  return after.size();
}

class Job {
 public:
  Job(Batch& batch, const BatchJob& job) : batch_(batch), job_(job), outcomes_(job.steps.size()) {}

  Result<std::string> Run(std::span<const std::string_view> buffers,
                          const FilterEvaluator& evaluate_filter) {
    GANNET_ASSIGN_OR_RETURN(index::Index::ExternalIds read, batch_.index.ReadExternalIds());
    std::optional<index::Index::ExternalIds> ids(std::move(read));
    steps_.emplace(*batch_.before, *ids, buffers, evaluate_filter);
    GANNET_RETURN_IF_ERROR(Collect());
    GANNET_RETURN_IF_ERROR(ids->health());
    GANNET_RETURN_IF_ERROR(Write());
    batch_.progress.Begin("committing", 1);
    ids.reset();
    return Commit();
  }
  // Memory held for the operations of the batch.
  uint64_t memory_bytes() const { return steps_ ? steps_->operations().memory_bytes() : 0; }

 private:
  Status Collect() {
    batch_.progress.Begin("preparing payloads", job_.steps.size());
    for (size_t i = 0; i < job_.steps.size(); ++i) {
      Status status = steps_->Add(job_.steps[i].step, outcomes_[i]);
      // An error of the user's input concerns only its step; any other error the whole batch.
      if (!status.ok() && status.code() != StatusCode::kInvalidArgument) return status;
      any_ok_ |= status.ok();
      outcomes_[i].status = std::move(status);
      batch_.progress.Advance();
      GANNET_RETURN_IF_ERROR(batch_.progress.Health());
    }
    return Status::Ok();
  }

  Status Write() {
    const index::Snapshot& before = *batch_.before;
    index::Commit& commit = batch_.commit;
    const Operations& operations = steps_->operations();
    commit.clear = steps_->cleared();
    if (operations.size() > 0 || !steps_->deleted_by_filter().empty()) {
      // Documents are written for the settings of `before`.
      if (steps_->settings()) return Status::Internal("a batch with settings changes documents");
      GANNET_RETURN_IF_ERROR(WriteDocuments(batch_, *steps_));
    } else if (steps_->cleared()) {
      commit.distribution.emplace();
    }
    if (const auto* change = steps_->settings())
      GANNET_RETURN_IF_ERROR(ApplySettings(batch_, *steps_, *change));
    if (any_ok_ && operations.has_primary_key &&
        (!before.has_primary_key || before.primary_key != operations.primary_key)) {
      commit.primary_key = operations.primary_key;
    }
    if (any_ok_) commit.updated_at = job_.now;
    return Status::Ok();
  }

  Result<std::string> Commit() {
    // Done late, when the workers no longer need memory.
    const auto& touched = steps_->operations().touched();
    for (size_t i = 0; i < touched.size(); ++i) {
      const TouchedDocument& document = touched[i];
      if (!document.stored && document.docid != kNone)
        batch_.commit.new_external_ids.emplace_back(document.id(), document.docid);
    }
    std::string outcome;
    const auto adjust = [&](const index::Snapshot& now, index::Commit& commit) -> Status {
      // This machine no longer leads the cluster, or leads it again: another one has given docids
      // since.
      if (now.last_batch != batch_.before->last_batch)
        return Status::Cancelled("Another batch was committed meanwhile.");
      GANNET_ASSIGN_OR_RETURN(const uint64_t documents, FollowMerges(now, batch_.written, commit));
      outcome = OutcomeJson(job_, outcomes_, documents);
      commit.last_batch = "{\"batchUid\":" + std::to_string(job_.batch_uid) +
                          ",\"taskUids\":" + std::string(job_.task_uids) +
                          ",\"outcome\":" + outcome + "}";
      return Status::Ok();
    };
    GANNET_RETURN_IF_ERROR(batch_.index.Apply(std::move(batch_.commit), adjust, &batch_.files));
    return outcome;
  }

  Batch& batch_;
  const BatchJob& job_;
  std::vector<StepOutcome> outcomes_;
  std::optional<CollectedSteps> steps_;
  bool any_ok_ = job_.steps.empty();
};

}  // namespace

void Progress::Begin(const char* name, uint64_t total) {
  name_ = name;
  finished_ = 0;
  total_ = total;
}

Progress::Step Progress::step() const { return {name_.load(), finished_.load(), total_.load()}; }

Result<std::string> RunBatch(index::Index& index, const BatchJob& job,
                             std::span<const std::string_view> payloads, const JobOptions& options,
                             const FilterEvaluator& evaluate_filter, Progress& progress) {
  uint64_t held = 0;
  auto outcome = [&] {
    Batch batch(index, options, progress);
    Job whole(batch, job);
    auto result = whole.Run(payloads, evaluate_filter);
    held = whole.memory_bytes();
    return result;
  }();
  ReturnFreeMemory(held);
  return outcome;
}

}  // namespace gannet::indexing
