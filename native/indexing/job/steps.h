// The combined effect of the steps of a batch.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "bitmap/docset.h"
#include "index/index.h"
#include "indexing/job.h"
#include "indexing/operations.h"

namespace gannet::indexing {

// Collects the combined effect of the steps, step by step.
class CollectedSteps {
 public:
  CollectedSteps(const index::Snapshot& before, index::Index::ExternalIds& ids,
                 std::span<const std::string_view> buffers, const FilterEvaluator& evaluate_filter);
  CollectedSteps(const CollectedSteps&) = delete;

  // Invalid: the step is at fault, and has changed nothing.
  Status Add(const BatchStep& step, StepOutcome& outcome);

  Operations& operations() const { return *operations_; }
  const Payloads& payloads() const { return payloads_; }
  bool cleared() const { return cleared_; }
  const DocSet& deleted_by_filter() const { return deleted_by_filter_; }
  struct SettingsChange {
    std::shared_ptr<const index::StoredSettings> stored;  // of the last step with settings
    std::map<std::string, Remake, std::less<>> remakes;   // by embedder, of all of them
  };
  // Null: no step has settings.
  const SettingsChange* settings() const { return settings_ ? &*settings_ : nullptr; }

 private:
  Status Add(const DocumentsStep& step, StepOutcome& outcome);
  Status Add(const DeleteIdsStep& step, StepOutcome& outcome);
  Status Add(const DeleteFilterStep& step, StepOutcome& outcome);
  Status Add(const DeleteExpiredStep& step, StepOutcome& outcome);
  // Deletes those of the stored documents that no earlier step has changed.
  void Delete(DocSet docids, StepOutcome& outcome);
  Status Add(const ClearStep& step, StepOutcome& outcome);
  Status Add(const SettingsStep& step, StepOutcome& outcome);
  Status Add(const PrimaryKeyStep& step, StepOutcome& outcome);
  Result<std::string_view> BytesOf(const PayloadSource& source);

  const index::Snapshot& before_;
  index::Index::ExternalIds& ids_;
  std::span<const std::string_view> buffers_;
  const FilterEvaluator& evaluate_filter_;
  Payloads payloads_;
  bool cleared_ = false;
  DocSet deleted_by_filter_;
  std::unique_ptr<Operations> operations_;
  std::optional<SettingsChange> settings_;
};

}  // namespace gannet::indexing
