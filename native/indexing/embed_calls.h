// Requests of a batch for embeddings of its documents. The batch sends calls and awaits their
// results, which other threads deliver.
//
// Threads: one sends and awaits; any may call Respond.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "base/status.h"

namespace gannet::indexing {

class Progress;

class EmbedCalls {
 public:
  // Sends documents, a JSON list, to whoever makes embeddings; returns at once.
  using SendDocuments = std::function<void(uint32_t call, std::string documents)>;
  explicit EmbedCalls(SendDocuments send) : send_(std::move(send)) {}

  // Sends documents and returns the number of the call.
  uint32_t Send(std::string documents);
  // Waits for the result of a call; each may be awaited once. Returns the error of a failed call;
  // Cancelled if the batch is to stop.
  Result<std::string> Await(uint32_t call, const Progress& progress);

  // Sets the result of a call. Only the first counts; a result that is not awaited is ignored.
  void Respond(uint32_t call, Result<std::string> response);

 private:
  const SendDocuments send_;
  uint32_t next_ = 1;
  std::mutex mutex_;  // guards what follows
  std::condition_variable arrived_;
  std::map<uint32_t, std::optional<Result<std::string>>> calls_;
};

}  // namespace gannet::indexing
