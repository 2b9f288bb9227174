// Documents similar to a given one (docs/behaviour/vectors.md).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/status.h"
#include "index/index.h"
#include "search/response.h"
#include "search/caller.h"
#include "search/request.h"
#include "search/search_run.h"

namespace gannet::search {

// The documents nearest to `target`, without itself. If documents have several embeddings, those
// with the same index are compared. Uses these parts of the request: the page, the embedder in
// `hybrid`, filter, threshold, and what concerns hits.
// Invalid, with the code as detail: invalid_similar_embedder, invalid_search_filter.
Result<std::unique_ptr<SearchRun>> RunSimilar(std::shared_ptr<const index::Snapshot> snapshot,
                                              SearchRequest request, DocId target,
                                              const Deadline& deadline);

// request  JSON of EngineSimilarRequest (src/search/plan.ts)
// Returns the response body.
// Invalid, with the code as detail: not_found_similar_id, invalid_similar_embedder,
// invalid_similar_filter.
Result<SearchResponse> ExecuteSimilar(index::Index& index, std::string_view request,
                                      const Caller& caller);

}  // namespace gannet::search
