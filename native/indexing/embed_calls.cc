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
  ask_(call, std::move(documents));
  return call;
}

Result<std::string> EmbedCalls::Await(uint32_t call, const Progress& progress) {
  std::unique_lock lock(mutex_);
  const auto found = calls_.find(call);
  if (found == calls_.end()) return Status::Internal("an answer was awaited twice");
  while (!found->second) {
    GANNET_RETURN_IF_ERROR(progress.Health());
    answered_.wait_for(lock, kHealthInterval);
  }
  Result<std::string> answer = std::move(*found->second);
  calls_.erase(found);
  return answer;
}

void EmbedCalls::Answer(uint32_t call, Result<std::string> answer) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = calls_.find(call);
    if (found == calls_.end() || found->second) return;
    found->second.emplace(std::move(answer));
  }
  answered_.notify_all();
}

}  // namespace gannet::indexing
