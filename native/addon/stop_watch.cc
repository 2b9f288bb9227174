#include "addon/stop_watch.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

namespace gannet::addon {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSignals[] = {SIGTERM, SIGINT};
constexpr int kInterrupted = 130;

// The pipe that handlers write to; set before the first handler is installed.
int signals_in = -1;
struct sigaction handlers_before[std::size(kSignals)];

// Async-signal-safe.
void OnSignal(int signal, siginfo_t* info, void* context) {
  const int before_errno = errno;
  const char byte = static_cast<char>(signal);
  // A full pipe already holds enough signals.
  [[maybe_unused]] const ssize_t written = write(signals_in, &byte, 1);
  errno = before_errno;
  const auto at = std::find(std::begin(kSignals), std::end(kSignals), signal);
  const struct sigaction& before = handlers_before[at - std::begin(kSignals)];
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) {
    before.sa_handler(signal);
  }
}

// Whether a signal arrives before the time is up.
bool ReadSignal(int signals_out, Clock::time_point until, char& signal) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (left <= 0) return false;
    pollfd polled{signals_out, POLLIN, 0};
    poll(&polled, 1, static_cast<int>(std::min<int64_t>(left, 1 << 30)));
    if ((polled.revents & POLLIN) != 0 && read(signals_out, &signal, 1) == 1) return true;
  }
}

[[noreturn]] void Watch(int signals_out, std::chrono::milliseconds time,
                        const std::string& message) {
  char signal = 0;
  while (read(signals_out, &signal, 1) != 1) {
  }
  const int status = signal == SIGINT ? kInterrupted : 0;
  if (ReadSignal(signals_out, Clock::now() + time, signal)) {
    std::this_thread::sleep_for(kSecondSignalTime);
  } else {
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, message.data(), message.size());
  }
  _exit(status);
}

Status Failed(const char* what) {
  return Status::Internal(std::string(what) + ": " + std::strerror(errno));
}

}  // namespace

Status WatchStops(std::chrono::milliseconds time, std::string message) {
  int ends[2];
  if (pipe(ends) != 0) return Failed("making a pipe for signals");
  for (const int end : ends) fcntl(end, F_SETFD, FD_CLOEXEC);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  signals_in = ends[1];
  std::thread(Watch, ends[0], time, std::move(message)).detach();
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    struct sigaction action;
    if (sigaction(kSignals[i], nullptr, &handlers_before[i]) != 0)
      return Failed("reading a signal handler");
    action = handlers_before[i];
    action.sa_sigaction = OnSignal;
    action.sa_flags = (action.sa_flags & ~static_cast<int>(SA_RESETHAND)) | SA_SIGINFO | SA_RESTART;
    if (sigaction(kSignals[i], &action, nullptr) != 0) return Failed("setting a signal handler");
  }
  return Status::Ok();
}

}  // namespace gannet::addon
