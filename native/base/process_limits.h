// Limits that the kernel enforces on another process of the same user.
//
// Source: prlimit(2), getrlimit(2).
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace gannet {

// The process gets no more than `data_bytes` of private writable memory (RLIMIT_DATA: heap,
// anonymous maps, stacks) and leaves no core dump; neither can be raised again by it.
// False: this system has no such call, or it was refused.
bool LimitProcess(pid_t process, uint64_t data_bytes);

}  // namespace gannet
