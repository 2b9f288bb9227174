// What the checks of document payloads promise of any bytes.
#pragma once

#include <simdjson.h>

#include <cstdlib>

#include "indexing/parse.h"

namespace gannet {

// Aborts unless the check ends and every document of an accepted payload parses.
inline void TryPayload(const uint8_t* data, size_t size, indexing::PayloadFormat format) {
  const std::string_view payload(reinterpret_cast<const char*>(data), size);
  const Result<uint64_t> count = indexing::CheckPayload(payload, format);
  uint64_t seen = 0;
  simdjson::dom::parser parser;
  const Status status = indexing::ForEachDocument(payload, format, [&](std::string_view document) {
    ++seen;
    const bool parses =
        parser.parse(document.data(), document.size(), false).error() == simdjson::SUCCESS;
    if (count.ok() && !parses) std::abort();
    return Status::Ok();
  });
  if (count.ok() && (!status.ok() || seen != *count)) std::abort();
}

}  // namespace gannet
