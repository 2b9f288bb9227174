// How the kernel schedules our threads. All of these are requests: where the kernel does not grant
// one, threads run as they would have without it.
#pragma once

#include <chrono>

namespace gannet {

// Time slices, for SetTimeSlice. 0.1 ms is the shortest that Linux grants.
inline constexpr std::chrono::microseconds kSearchTimeSlice{100};
// Longer than the slice of a search thread, which hands its result over and goes to sleep within
// microseconds. If the main thread interrupted the search thread that has just woken it, it would
// find that thread's locks taken, and each would wait for the other twice.
inline constexpr std::chrono::microseconds kMainTimeSlice{300};

// Sets the time slice of the calling thread. The kernel runs a thread with a short slice soon after
// it wakes: it interrupts a thread with a longer slice (the default is some milliseconds), which
// would otherwise run until the next tick of the clock, up to 4 ms in most kernels, even while
// another processor is idle. For threads that somebody waits for. Threads that the calling thread
// starts have the default slice. Linux 6.12 and newer (EEVDF with a slice per task:
// sched_setattr(2), `sched_runtime`).
void SetTimeSlice(std::chrono::microseconds length);

// Lowers the priority of the calling thread. nice: by how much, 0 to 19, as in setpriority(2).
void Yield(int nice);

}  // namespace gannet
