#include "base/utf8.h"

#include <simdjson.h>

namespace gannet {

bool IsUtf8(std::string_view bytes) { return simdjson::validate_utf8(bytes); }

}  // namespace gannet
