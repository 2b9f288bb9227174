// Where the time of a piece of work goes. While a StageClock exists, exactly one stage of the work
// is under way on its thread: so the stages add up to the time of the whole, without gaps.
//
// Threads: a clock belongs to a thread. Processor time of helpers (ParallelFor) counts for the
// stage that they help, which so may take more of it than time passes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gannet {

// The processor time of this thread, and of its helpers.
uint64_t ProcessorNanoseconds();
// A helper has worked for this thread.
void AddHelp(uint64_t processor_ns);

class StageClock {
 public:
  struct Stage {
    std::string name;
    bool of_rule = false;  // the name is that of a ranking rule
    uint64_t wall_ns = 0, cpu_ns = 0;
    const char* unit = nullptr;  // what `size` counts; null: nothing
    uint64_t size = 0;
  };

  // Begins with the stage `first`.
  explicit StageClock(std::string_view first);
  ~StageClock();
  StageClock(const StageClock&) = delete;
  StageClock& operator=(const StageClock&) = delete;

  // The stages in the order in which they began. Times of a stage that runs again are added up.
  std::vector<Stage> Stop();

 private:
  friend class InStage;
  static StageClock* Current();
  size_t SwitchTo(std::string_view name, bool of_rule);
  void SwitchTo(size_t stage);

  std::vector<Stage> stages_;
  size_t present_ = 0;
  uint64_t wall_ns_ = 0, cpu_ns_ = 0;  // when the present stage began
  StageClock* const before_;
};

// The work of this thread belongs to a stage for its lifetime, and then to the one before. Without
// a clock it does nothing.
class InStage {
 public:
  explicit InStage(std::string_view name, bool of_rule = false) : clock_(StageClock::Current()) {
    if (clock_ != nullptr) before_ = clock_->SwitchTo(name, of_rule);
  }
  ~InStage() { End(); }
  InStage(const InStage&) = delete;
  InStage& operator=(const InStage&) = delete;

  // Ends the stage early.
  void End() {
    if (clock_ != nullptr) std::exchange(clock_, nullptr)->SwitchTo(before_);
  }
  // Adds to the size of the stage that is under way.
  void Count(const char* unit, uint64_t size) {
    if (clock_ == nullptr) return;
    StageClock::Stage& stage = clock_->stages_[clock_->present_];
    stage.unit = unit;
    stage.size += size;
  }

 private:
  StageClock* clock_;  // null once it has ended
  size_t before_ = 0;
};

}  // namespace gannet
