// Copying texts of many megabytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/stop_point.h"

namespace gannet {

// out += text, with a StopPoint after each part.
inline void AppendLong(std::string_view text, std::string& out) {
  constexpr size_t kPart = size_t{1} << 20;
  for (; text.size() > kPart; text.remove_prefix(kPart)) {
    out += text.substr(0, kPart);
    StopPoint();
  }
  out += text;
}

}  // namespace gannet
