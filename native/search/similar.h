// Documents that are similar to one (docs/behaviour/vectors.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/status.h"
#include "index/index.h"
#include "search/answer.h"
#include "search/caller.h"
#include "search/request.h"
#include "search/search_run.h"

namespace gannet::search {

// The documents nearest to `target`, itself left out; of several embeddings those at the same place
// are compared. Of the request the page, `hybrid`'s embedder, filter, threshold and what concerns
// hits count.
// Invalid, with the code as detail: invalid_similar_embedder, invalid_search_filter.
Result<std::unique_ptr<SearchRun>> RunSimilar(std::shared_ptr<const index::Snapshot> snapshot,
                                              SearchRequest request, DocId target,
                                              const Deadline& deadline);

// request  JSON of EngineSimilarRequest (src/search/plan.ts)
// The result is the response body.
// Invalid, with the code as detail: not_found_similar_id, invalid_similar_embedder,
// invalid_similar_filter.
Result<Answer> ExecuteSimilar(index::Index& index, std::string_view request, const Caller& caller);

}  // namespace gannet::search
