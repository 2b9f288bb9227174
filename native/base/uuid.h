// Universally unique identifiers (RFC 9562).
#pragma once

#include <string>

namespace gannet {

// Of version 7: begins with the time, so that later ones are greater; the rest is random.
// Threads: any.
std::string MakeUuid7();

}  // namespace gannet
