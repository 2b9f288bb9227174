// Notes in a file that this process crashed, which means that it died from a fatal signal: an
// invalid access, or abort(), which V8 and the C++ runtime also call when memory has run out. A
// SIGKILL, from an operator or the kernel, leaves no note.
//
// Threads: any.
#pragma once

namespace gannet {

// The byte that the handler of a fatal signal writes at the beginning of the file.
inline constexpr char kCrashMark = '!';

// From now on the first fatal signal writes `kCrashMark` over the first byte of the open file, then
// the process dies as it would have. The byte survives because the page cache outlives the process;
// nothing is synced. A later call replaces the file.
// descriptor: -1 to stop recording.
void MarkCrashes(int descriptor);

// From now on a fatal signal on the calling thread writes nothing, because the thread does not work
// for a batch. For threads that live as long as the process.
void ExemptThreadFromCrashMark();

}  // namespace gannet
