// Ends the process when a stop takes longer than it may, even if the JavaScript threads are
// blocked.
//
// A signal handler that JavaScript sets runs on the event loop. While the loop is blocked, or waits
// for a native call, neither the handler nor a timer runs. So a separate thread receives the signal
// too, and measures the time.
#pragma once

#include <chrono>
#include <string>

#include "base/status.h"

namespace gannet::addon {

// From the first SIGTERM or SIGINT the process has `time`; then `message` is written to standard
// error and the process ends, with status 0 after SIGTERM and 130 after SIGINT. After a second
// signal it has kSecondSignalTime. Handlers set before still run. Call once, after JavaScript has
// set its handlers.
Status WatchStops(std::chrono::milliseconds time, std::string message);

// The time that JavaScript has to end the process after a second signal.
inline constexpr std::chrono::milliseconds kSecondSignalTime{100};

}  // namespace gannet::addon
