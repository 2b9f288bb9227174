// Any bytes as CSV: what the conversion accepts is NDJSON of as many documents.
#include <cstdlib>

#include "indexing/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace gannet;
  if (size == 0) return 0;
  const char delimiter = static_cast<char>(data[0] & 0x7f);
  const std::string_view csv(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string ndjson;
  const Result<uint64_t> count = indexing::ConvertCsv(csv, delimiter, [&](std::string_view chunk) {
    ndjson += chunk;
    return Status::Ok();
  });
  if (!count.ok()) return 0;
  const Result<uint64_t> check = indexing::CheckPayload(ndjson, indexing::PayloadFormat::kNdjson);
  if (!check.ok() || *check != *count) std::abort();
  return 0;
}
