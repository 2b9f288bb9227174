// Ends the process when a stop takes longer than it may, whatever the JavaScript threads do.
//
// A signal handler that JavaScript sets runs on the event loop. When the loop is blocked, or waits
// for a native call, the handler never runs, and a timer neither. So a thread of its own learns of
// the signal too, and counts the time.
#pragma once

#include <chrono>
#include <string>

#include "base/status.h"

namespace gannet::addon {

// From the first SIGTERM or SIGINT on the process has `time`; then `message` is written to standard
// error and the process ends, with status 0 after SIGTERM and 130 after SIGINT. After a further
// signal it has kSecondSignalTime. Handlers set before still run. Call once, after JavaScript has
// set its own.
Status WatchStops(std::chrono::milliseconds time, std::string message);

// The time that JavaScript has to end the process after a second signal.
inline constexpr std::chrono::milliseconds kSecondSignalTime{100};

}  // namespace gannet::addon
