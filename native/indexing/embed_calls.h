// A batch asks for the embeddings of documents: calls go out, and answers come back from another
// thread.
//
// Threads: one sends and awaits; answers come from any.
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
  // Hands out documents, JSON of a list; returns at once.
  using Ask = std::function<void(uint32_t call, std::string documents)>;
  explicit EmbedCalls(Ask ask) : ask_(std::move(ask)) {}

  // Returns the number of the call.
  uint32_t Send(std::string documents);
  // The answer to a call; each may be awaited once. A status: what the call failed with; Cancelled
  // when the batch is to stop.
  Result<std::string> Await(uint32_t call, const Progress& progress);

  // The first answer to a call counts; one that nobody awaits does nothing.
  void Answer(uint32_t call, Result<std::string> answer);

 private:
  const Ask ask_;
  uint32_t next_ = 1;
  std::mutex mutex_;  // guards what follows
  std::condition_variable answered_;
  std::map<uint32_t, std::optional<Result<std::string>>> calls_;
};

}  // namespace gannet::indexing
