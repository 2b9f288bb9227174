// Records in a file that this process died by a fault of its own: a fatal signal (abort(), which
// V8 and the C++ runtime also use when memory has run out, or an invalid access). What an operator
// or the kernel ends with SIGKILL leaves no record.
//
// Threads: any.
#pragma once

namespace gannet {

// The byte that a fatal signal writes at the beginning of the file.
inline constexpr char kCrashMark = '!';

// From now on the first fatal signal writes `kCrashMark` over the first byte of the open file,
// then the process dies as it would have. The byte survives because the page cache outlives the
// process; nothing is synced. A later call replaces the file.
// descriptor: -1 to record nothing any more.
void MarkCrashes(int descriptor);

// A fatal signal on the calling thread records nothing: the thread does not work for a batch. For
// threads that live as long as the process.
void ExemptThreadFromCrashMark();

}  // namespace gannet
