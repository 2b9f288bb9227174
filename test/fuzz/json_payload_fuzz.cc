// Any bytes as a JSON payload.
#include "payload_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  gannet::TryPayload(data, size, gannet::indexing::PayloadFormat::kJson);
  return 0;
}
