// Limits that the kernel enforces on another process of the same user.
//
// Source: prlimit(2), getrlimit(2).
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace gannet {

// Limits the process to `data_bytes` of private writable memory (RLIMIT_DATA: heap, anonymous maps,
// stacks) and disables core dumps; the process cannot raise either limit again.
// False: this system has no such call, or the call was refused.
bool LimitProcess(pid_t process, uint64_t data_bytes);

}  // namespace gannet
