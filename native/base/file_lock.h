// A lock on a file that the kernel grants to one holder at a time and releases when the holder
// dies, however it dies. It works between containers that share a volume, and on network file
// systems that support locks.
//
// Source: fcntl(2), open file description locks (Linux 3.15).
#pragma once

#include <string>

#include "base/status.h"

namespace gannet {

enum class LockKind {
  kHolder,  // held by one process; the file is created if absent, and names the holder
  // shared by processes that write nothing; the file is created if possible, and never written
  kReader,
  kData,  // held by one process; a data file: it is created empty if absent, and never written
};

// The descriptor of the lock; close it to release the lock.
// Limit: another process holds it; the message is what that process has written into the file.
// Io: the file cannot be locked.
Result<int> LockFile(const std::string& path, LockKind kind);

}  // namespace gannet
