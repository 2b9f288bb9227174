// Several searches merged into one list (search.md 9).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "index/index.h"

namespace gannet::search {

// indexes[i] belongs to queries[i] of the request (JSON as in src/search/plan.ts). The result is the response body.
// Errors of a query carry its position in front of the message.
Result<std::string> ExecuteFederatedSearch(std::span<index::Index* const> indexes, std::string_view request,
                                           uint64_t started_us);

}  // namespace gannet::search
