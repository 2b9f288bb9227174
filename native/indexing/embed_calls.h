// Requests for embeddings of documents by a batch: calls go out, and results come back from another
// thread.
//
// Threads: one sends and awaits; results come from any.
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
  // Hands out documents, a JSON list; returns at once.
  using Ask = std::function<void(uint32_t call, std::string documents)>;
  explicit EmbedCalls(Ask ask) : ask_(std::move(ask)) {}

  // Sends documents and returns the number of the call.
  uint32_t Send(std::string documents);
  // Waits for the result of a call; each may be awaited once. Returns the error of a failed call;
  // Cancelled if the batch is to stop.
  Result<std::string> Await(uint32_t call, const Progress& progress);

  // Sets the result of a call. Only the first counts; a result that is not awaited is ignored.
  void Answer(uint32_t call, Result<std::string> answer);

 private:
  const Ask ask_;
  uint32_t next_ = 1;
  std::mutex mutex_;  // guards what follows
  std::condition_variable answered_;
  std::map<uint32_t, std::optional<Result<std::string>>> calls_;
};

}  // namespace gannet::indexing
