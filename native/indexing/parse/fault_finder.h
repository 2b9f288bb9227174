// Describes the faults of payloads: the reason, and the position.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.h"
#include "indexing/parse.h"

namespace gannet::indexing {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

inline bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }

inline std::string_view WithoutByteOrderMark(std::string_view bytes) {
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  return bytes;
}

Status Malformed(PayloadFormat format, std::string_view reason);

// Status with `reason` and the line and column of payload[offset]. Both count from 1; columns are
// in characters.
Status MalformedAt(PayloadFormat format, std::string_view payload, size_t offset,
                   std::string_view reason);

// The value or the character at the start of `text`, for a message.
std::string QuotedStart(std::string_view text);

struct Fault {
  size_t offset;
  std::string reason;
};

// The fault of the JSON object at the start of `text`, which simdjson or the scanner refused.
Fault FindFault(std::string_view text);

}  // namespace gannet::indexing
