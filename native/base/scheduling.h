// How the kernel shares the processors among our threads and with others. All of these are wishes:
// where one is not granted, threads run as they would have.
#pragma once

#include <chrono>

namespace gannet {

// Turns of the processor, for SetTimeSlice. 0.1 ms is the shortest that Linux grants.
inline constexpr std::chrono::microseconds kSearchTimeSlice{100};
// Longer than a search thread's: that hands its result over and goes to sleep within microseconds.
// Were it interrupted in between by the thread that it has just woken, that one would find its
// locks taken, and each would wait for the other twice.
inline constexpr std::chrono::microseconds kMainTimeSlice{300};

// The calling thread gets its share of a processor in turns of that length, and so the first of
// them soon after it wakes: a thread that runs in longer turns, by default of milliseconds, is
// interrupted for it, where it would otherwise go on for up to a tick of the clock, 4 ms in most
// kernels, even beside an idle processor. For threads that somebody waits for. Threads that it
// starts have the default again. Linux 6.12 and newer (EEVDF with a slice of each task:
// sched_setattr(2), `sched_runtime`).
void SetTimeSlice(std::chrono::microseconds length);

// The calling thread yields to others. nice: by how much, 0 to 19, as in setpriority(2).
void Yield(int nice);

}  // namespace gannet
