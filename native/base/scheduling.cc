#include "base/scheduling.h"

#include <cstdint>

#if defined(__linux__)
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace gannet {

#if defined(__linux__)
namespace {

constexpr uint64_t kResetOnFork = 1;

// `struct sched_attr` of the kernel, first version; the C library has none before glibc 2.41.
struct Attributes {
  uint32_t size, policy;
  uint64_t flags;
  int32_t nice;
  uint32_t priority;
  uint64_t runtime, deadline, period;
};
static_assert(sizeof(Attributes) == 48);

}  // namespace

void SetTimeSlice(std::chrono::microseconds length) {
  Attributes attributes{};
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0) return;
  // For real-time policies the field has another meaning.
  constexpr uint32_t kOther = 0, kBatch = 3;
  if (attributes.policy != kOther && attributes.policy != kBatch) return;
  attributes.size = sizeof(attributes);
  attributes.flags |= kResetOnFork;
  attributes.runtime = static_cast<uint64_t>(std::chrono::nanoseconds(length).count());
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void Yield(int nice) { setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), nice); }

#else

void SetTimeSlice(std::chrono::microseconds) {}
void Yield(int) {}

#endif

}  // namespace gannet
