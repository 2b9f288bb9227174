// A lock on a file that the kernel gives to one holder at a time and takes back when it dies in
// whatever way. It holds between containers that share a volume, and on file systems over the
// network that keep locks.
//
// Source: fcntl(2), open file description locks (Linux 3.15).
#pragma once

#include <string>

#include "base/status.h"

namespace gannet {

enum class LockKind {
  kHolder,  // of one process alone; the file is made when absent, and says who holds it
  kReader,  // of any that write nothing; the file is not written, nor made where that is not
            // possible
  kData,  // of one process alone; the file is one of data: it is made empty when absent, and never
          // written
};

// The descriptor of the lock, to be closed to give it back.
// Limit: another process holds it; the message is what that process has written into the file. Io:
// it cannot be locked.
Result<int> LockFile(const std::string& path, LockKind kind);

}  // namespace gannet
