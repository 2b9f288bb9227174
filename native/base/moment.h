// Moments as texts: dates in documents and in filters (docs/behaviour/filters.md).
//
// A moment is a number of seconds since 1970-01-01T00:00:00Z, exact to a microsecond.
#pragma once

#include <optional>
#include <string_view>

namespace gannet {

// The current time.
double UnixSeconds();

// Reads an RFC 3339 date and time, such as 2026-01-31T10:00:00.5+01:00, or its date alone, which is
// midnight UTC. `t`, `z` and a space instead of `T` are accepted. nullopt: it is neither.
std::optional<double> ParseDate(std::string_view text);

// Reads `now`, `now-7d` or `now+90m`: a number of seconds (s), minutes (m), hours (h), days (d) or
// weeks (w) before or after `now`. nullopt: it is none of these.
std::optional<double> ParseRelativeDate(std::string_view text, double now);

}  // namespace gannet
