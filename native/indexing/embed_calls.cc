#include "indexing/embed_calls.h"

#include <chrono>

#include "indexing/job.h"

namespace gannet::indexing {
namespace {

// How soon a waiting batch notices that it is to stop.
constexpr std::chrono::milliseconds kHealthInterval{20};

}  // namespace

uint32_t EmbedCalls::Send(std::string documents) {
  const uint32_t call = next_++;
  {
    const std::lock_guard lock(mutex_);
    calls_.emplace(call, std::nullopt);
  }
  send_(call, std::move(documents));
  return call;
}

Result<std::string> EmbedCalls::Await(uint32_t call, const Progress& progress) {
  std::unique_lock lock(mutex_);
  const auto found = calls_.find(call);
  if (found == calls_.end()) return Status::Internal("a response was awaited twice");
  while (!found->second) {
    GANNET_RETURN_IF_ERROR(progress.Health());
    arrived_.wait_for(lock, kHealthInterval);
  }
  Result<std::string> response = std::move(*found->second);
  calls_.erase(found);
  return response;
}

void EmbedCalls::Respond(uint32_t call, Result<std::string> response) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(call);
    if (found == calls_.end() || found->second) return;
    found->second.emplace(std::move(response));
  }
  arrived_.notify_all();
}

}  // namespace gannet::indexing
