// Documents that are similar to one (docs/behaviour/vectors.md).
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "index/index.h"
#include "search/execute.h"

namespace gannet::search {

// request  JSON of EngineSimilarRequest (src/search/plan.ts)
// The result is the response body.
// Invalid, with the code as detail: not_found_similar_id, invalid_similar_embedder,
// invalid_similar_filter.
Result<std::string> ExecuteSimilar(index::Index& index, std::string_view request,
                                   const Caller& caller);

}  // namespace gannet::search
