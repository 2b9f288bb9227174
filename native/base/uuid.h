// Universally unique identifiers (RFC 9562).
#pragma once

#include <string>

namespace gannet {

// A UUID of version 7: it begins with the time, so that later ones are greater; the rest is random.
// Threads: any.
std::string MakeUuid7();

}  // namespace gannet
