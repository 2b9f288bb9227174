#include "base/crash_mark.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace gannet {
namespace {

constexpr std::array kFatalSignals{SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP};
// On a machine with more search threads, a crash in one of the others is recorded as a crash of a
// batch.
constexpr size_t kExemptThreadsMax = 1024;

std::atomic<int> marked_descriptor{-1};
std::array<struct sigaction, kFatalSignals.size()> earlier;
// Not thread_local: the first access to such a variable may allocate, which a handler must not.
std::array<std::atomic<uintptr_t>, kExemptThreadsMax> exempt_threads;
std::atomic<size_t> exempt_count{0};

uintptr_t ThisThread() { return reinterpret_cast<uintptr_t>(pthread_self()); }

bool IsExempt() {
  const uintptr_t thread = ThisThread();
  for (const auto& exempt : exempt_threads) {
    const uintptr_t found = exempt.load(std::memory_order_relaxed);
    if (found == thread) return true;
    if (found == 0) return false;
  }
  return false;
}

// Calls only functions that signal-safety(7) lists.
void OnFatalSignal(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const int descriptor = marked_descriptor.load();
  if (descriptor >= 0 && !IsExempt()) {
    // A failure cannot be reported.
    [[maybe_unused]] const ssize_t written = pwrite(descriptor, &kCrashMark, 1, 0);
  }
  errno = saved_errno;
  size_t n = 0;
  while (kFatalSignals[n] != signal) n++;
  const struct sigaction& before = earlier[n];
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
    return;
  }
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
    return;
  }
  // Delivered as soon as this handler returns.
  sigaction(signal, &before, nullptr);
  raise(signal);
}

void Install() {
  for (size_t n = 0; n < kFatalSignals.size(); n++) {
    struct sigaction action {};
    action.sa_sigaction = OnFatalSignal;
    sigemptyset(&action.sa_mask);
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    // `earlier` is complete before the handler can run for this signal.
    sigaction(kFatalSignals[n], nullptr, &earlier[n]);
    const bool ignored =
        (earlier[n].sa_flags & SA_SIGINFO) == 0 && earlier[n].sa_handler == SIG_IGN;
    if (!ignored) sigaction(kFatalSignals[n], &action, nullptr);
  }
  // A stack that has overflowed has no space for a handler, so the handler has a stack of its own.
  // The calling thread is the main thread, which lives as long as the process.
  constexpr size_t kStackBytes = size_t{64} << 10;
  static std::array<char, kStackBytes> handler_stack;
  stack_t current{};
  if (sigaltstack(nullptr, &current) != 0 || (current.ss_flags & SS_DISABLE) == 0) return;
  stack_t stack{};
  stack.ss_sp = handler_stack.data();
  stack.ss_size = handler_stack.size();
  sigaltstack(&stack, nullptr);
}

}  // namespace

void MarkCrashes(int descriptor) {
  static std::once_flag installed;
  std::call_once(installed, Install);
  marked_descriptor = descriptor;
}

void ExemptThreadFromCrashMark() {
  const size_t n = exempt_count.fetch_add(1);
  if (n < exempt_threads.size()) exempt_threads[n] = ThisThread();
}

}  // namespace gannet
