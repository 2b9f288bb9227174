// Any bytes as a JSON payload: the check ends, and every document of an accepted payload parses.
#include <simdjson.h>

#include <cstdlib>

#include "indexing/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gannet;
  constexpr auto kFormat = indexing::PayloadFormat::kJson;
  const std::string_view payload(reinterpret_cast<const char*>(data), size);
  const Result<uint64_t> count = indexing::CheckPayload(payload, kFormat);
  uint64_t seen = 0;
  simdjson::dom::parser parser;
  const Status status = indexing::ForEachDocument(payload, kFormat, [&](std::string_view document) {
    ++seen;
    const bool parses =
        parser.parse(document.data(), document.size(), false).error() == simdjson::SUCCESS;
    if (count.ok() && !parses) std::abort();
    return Status::Ok();
  });
  if (count.ok() && (!status.ok() || seen != *count)) std::abort();
  return 0;
}
