// Cut-offs of embedders that were measured on the embeddings of one snapshot, by embedder
// (search/vectors/semantic_cutoff.h).
//
// Threads: any.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace gannet::index {

class MeasuredCutoffs {
 public:
  MeasuredCutoffs() = default;
  // A copy belongs to another snapshot, so it starts empty.
  MeasuredCutoffs(const MeasuredCutoffs&) {}
  MeasuredCutoffs& operator=(const MeasuredCutoffs&) = delete;

  // nullopt: not measured yet.
  std::optional<double> Find(const std::string& embedder) const {
    const std::lock_guard lock(mutex_);
    const auto found = scores_.find(embedder);
    return found == scores_.end() ? std::nullopt : std::optional(found->second);
  }
  void Store(const std::string& embedder, double score) const {
    const std::lock_guard lock(mutex_);
    scores_[embedder] = score;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::string, double> scores_;  // guarded by mutex_
};

}  // namespace gannet::index
