// How the kernel shares the processors among our threads and with others. All of these are wishes: where one is not granted,
// threads run as they would have.
#pragma once

namespace gannet {

// The calling thread gets its share of a processor in short turns, and so the first of them soon after it wakes: a thread that
// runs in longer turns, which is the default, is interrupted for it, where it would otherwise go on for up to a tick of the clock,
// 4 ms in most kernels, even beside an idle processor. For threads that somebody waits for. Threads that it starts have the
// default again. Linux 6.12 and newer (EEVDF with a slice of each task: sched_setattr(2), `sched_runtime`).
void TakeShortTurns();

// The calling thread yields to others. nice: by how much, 0 to 19, as in setpriority(2).
void Yield(int nice);

}  // namespace gannet
