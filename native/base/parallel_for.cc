#include "base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

#include "base/stage_clock.h"
#include "base/stop_point.h"

namespace gannet {
namespace {

// More threads than this are seldom idle, and helpers share the memory bandwidth that records need.
constexpr size_t kHelpersMax = 3;

Helpers& Current() {
  static auto* const helpers = new Helpers();
  return *helpers;
}

// Outlives the call if a helper starts too late.
struct Pieces {
  Pieces(size_t pieces, const std::function<void(size_t)>& work) : count(pieces), body(work) {}

  template <typename Leave>
  void WorkOff(Leave&& leave) {
    try {
      while (!leave()) {
        const size_t i = next.fetch_add(1);
        if (i >= count) return;
        StopPoint();
        body(i);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;
    }
  }
  void Help() {
    {
      const std::lock_guard lock(mutex);
      if (closed) return;
      ++helping;
    }
    const uint64_t before_ns = ProcessorNanoseconds();
    {
      const StopScope scope(conditions);
      WorkOff([] { return Current().wanted(); });
    }
    const uint64_t after_ns = ProcessorNanoseconds();
    const std::lock_guard lock(mutex);
    helped_ns += after_ns - before_ns;
    if (--helping == 0) left.notify_one();
  }

  const size_t count;
  const std::function<void(size_t)>& body;                        // until closed
  const StopConditions* const conditions = StopScope::Current();  // until closed
  std::atomic<size_t> next{0};
  std::mutex mutex;  // guards the members below
  std::condition_variable left;
  std::exception_ptr failure;
  size_t helping = 0;
  uint64_t helped_ns = 0;  // see AddHelp
  bool closed = false;
};

}  // namespace

void SetHelpers(Helpers helpers) { Current() = std::move(helpers); }

void ParallelFor(size_t count, const std::function<void(size_t)>& body) {
  const auto pieces = std::make_shared<Pieces>(count, body);
  if (const auto& offer = Current().offer) {
    try {
      for (size_t i = 1;
           i < std::min(count, kHelpersMax + 1) && offer([pieces] { pieces->Help(); }); ++i) {
      }
    } catch (const std::bad_alloc&) {
      // Go on with the helpers there are.
    }
  }
  pieces->WorkOff([] { return false; });
  std::unique_lock lock(pieces->mutex);
  pieces->closed = true;
  pieces->left.wait(lock, [&] { return pieces->helping == 0; });
  AddHelp(pieces->helped_ns);
  if (pieces->failure) std::rethrow_exception(pieces->failure);
}

}  // namespace gannet
