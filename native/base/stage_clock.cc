#include "base/stage_clock.h"

#include <time.h>

#include <algorithm>
#include <utility>

namespace gannet {
namespace {

thread_local constinit StageClock* current = nullptr;
thread_local constinit uint64_t helped_ns = 0;

uint64_t Nanoseconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace

uint64_t ProcessorNanoseconds() { return Nanoseconds(CLOCK_THREAD_CPUTIME_ID) + helped_ns; }

void AddHelp(uint64_t processor_ns) { helped_ns += processor_ns; }

StageClock::StageClock(std::string_view first)
    : stages_{{.name = std::string(first)}},
      wall_ns_(Nanoseconds(CLOCK_MONOTONIC)),
      cpu_ns_(ProcessorNanoseconds()),
      before_(std::exchange(current, this)) {}

StageClock::~StageClock() { current = before_; }

StageClock* StageClock::Current() { return current; }

std::vector<StageClock::Stage> StageClock::Stop() {
  SwitchTo(present_);
  return stages_;
}

size_t StageClock::SwitchTo(std::string_view name, bool of_rule) {
  const size_t before = present_;
  const auto found = std::find_if(stages_.begin(), stages_.end(), [&](const Stage& stage) {
    return stage.of_rule == of_rule && stage.name == name;
  });
  const auto stage = static_cast<size_t>(found - stages_.begin());
  if (found == stages_.end()) stages_.push_back({.name = std::string(name), .of_rule = of_rule});
  SwitchTo(stage);
  return before;
}

void StageClock::SwitchTo(size_t stage) {
  const uint64_t wall_ns = Nanoseconds(CLOCK_MONOTONIC), cpu_ns = ProcessorNanoseconds();
  stages_[present_].wall_ns += wall_ns - std::exchange(wall_ns_, wall_ns);
  stages_[present_].cpu_ns += cpu_ns - std::exchange(cpu_ns_, cpu_ns);
  present_ = stage;
}

}  // namespace gannet
