// What a younger glibc has and that of 2018 (2.28) lacks. Linked into the addons of a release, seen by nothing else.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

// Of `struct stat` only the address counts here: the kernel fills what callers expect on this processor.
HIDDEN int fstatat(int folder, const char* path, void* out, int flags) {
  return (int)syscall(SYS_newfstatat, folder, path, out, flags);
}
HIDDEN int fstatat64(int folder, const char* path, void* out, int flags) {
  return fstatat(folder, path, out, flags);
}
HIDDEN int stat(const char* path, void* out) { return fstatat(AT_FDCWD, path, out, 0); }
HIDDEN int stat64(const char* path, void* out) { return fstatat(AT_FDCWD, path, out, 0); }
HIDDEN int lstat(const char* path, void* out) {
  return fstatat(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}
HIDDEN int lstat64(const char* path, void* out) { return lstat(path, out); }
HIDDEN int fstat(int file, void* out) { return (int)syscall(SYS_fstat, file, out); }
HIDDEN int fstat64(int file, void* out) { return fstat(file, out); }

// A number that nobody can guess, as std::random_device wants it.
HIDDEN uint32_t arc4random(void) {
  uint32_t number = 0;
  while (syscall(SYS_getrandom, &number, sizeof number, 0) != (long)sizeof number) {
  }
  return number;
}

// False: counters of shared pointers are changed atomically, as in every process with threads.
HIDDEN char __libc_single_threaded = 0;

// Waits until a moment of `clock`. Without clocks in the condition the rest of the wait is measured by the wall clock.
HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                  const struct timespec* until) {
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, until);
  struct timespec now, wall;
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &wall) != 0) return EINVAL;
  int64_t rest = (int64_t)(until->tv_sec - now.tv_sec) * 1000000000 + (until->tv_nsec - now.tv_nsec);
  if (rest < 0) rest = 0;
  const int64_t end = wall.tv_nsec + rest % 1000000000;
  const struct timespec moment = {wall.tv_sec + rest / 1000000000 + end / 1000000000,
                                  end % 1000000000};
  return pthread_cond_timedwait(condition, mutex, &moment);
}
