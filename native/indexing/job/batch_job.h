// The description of a batch.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "indexing/document_vectors.h"

namespace gannet::indexing {

using PayloadSource = std::variant<std::string, uint64_t>;  // path of a file, number of a buffer

struct DocumentsStep {
  PayloadSource payload;
  bool ndjson, update, skip_creation;
  std::optional<std::string> primary_key;
};
struct DeleteIdsStep {
  std::vector<std::string> ids;
  std::optional<PayloadSource> payload;  // a JSON list of more ids
};
struct DeleteFilterStep {
  std::string_view filter;  // JSON
};
struct DeleteExpiredStep {};
struct ClearStep {};
struct SettingsStep {
  std::string_view settings;                           // see index::StoredSettings::json
  std::map<std::string, uint64_t> long_values;         // numbers of buffers by name
  std::map<std::string, Remake, std::less<>> remakes;  // by embedder
};
struct PrimaryKeyStep {
  std::string primary_key;
};
using BatchStep = std::variant<DocumentsStep, DeleteIdsStep, DeleteFilterStep, DeleteExpiredStep,
                               ClearStep, SettingsStep, PrimaryKeyStep>;

// BatchJob of src/engine/native.ts. Views refer to the text that it was read from.
struct BatchJob {
  // One task may have several steps.
  struct TaskStep {
    uint64_t task;
    BatchStep step;
  };
  static Result<BatchJob> Parse(std::string_view text);
  bool ChangesSettings() const;

  uint64_t batch_uid;
  std::string_view task_uids;  // JSON
  std::string now;
  std::vector<TaskStep> steps;
};

}  // namespace gannet::indexing
