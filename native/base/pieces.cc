#include "base/pieces.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

namespace gannet {
namespace {

constexpr size_t kHelpersMax = 3;

AskHelper& Asked() {
  static auto* const ask = new AskHelper();
  return *ask;
}

// Outlives the call where a helper comes too late.
struct Pieces {
  Pieces(size_t pieces, const std::function<void(size_t)>& work) : count(pieces), piece(work) {}

  void WorkOff() {
    for (size_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) piece(i);
  }
  void Help() {
    {
      const std::lock_guard lock(mutex);
      if (closed) return;
      ++helping;
    }
    WorkOff();
    const std::lock_guard lock(mutex);
    if (--helping == 0) left.notify_one();
  }

  const size_t count;
  const std::function<void(size_t)>& piece;  // until closed
  std::atomic<size_t> next{0};
  std::mutex mutex;  // guards what follows
  std::condition_variable left;
  size_t helping = 0;
  bool closed = false;
};

}  // namespace

void SetHelpers(AskHelper ask) { Asked() = std::move(ask); }

void ForEachPiece(size_t count, const std::function<void(size_t)>& piece) {
  const auto pieces = std::make_shared<Pieces>(count, piece);
  if (Asked()) {
    for (size_t i = 1; i < std::min(count, kHelpersMax + 1) && Asked()([pieces] { pieces->Help(); }); ++i) {
    }
  }
  pieces->WorkOff();
  std::unique_lock lock(pieces->mutex);
  pieces->closed = true;
  pieces->left.wait(lock, [&] { return pieces->helping == 0; });
}

}  // namespace gannet
