// Which documents a search may find, before any ranking.
#pragma once

#include <optional>

#include "base/deadline.h"
#include "base/status.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/query/query_evaluator.h"
#include "search/request.h"

namespace gannet::search {

// The documents that match the filter of the request, or all documents if it has none. If the
// deadline passes, only those already known to match.
// Invalid: as index::EvaluateFilterJson.
Result<DocSet> MatchingFilter(const index::Snapshot& snapshot, const SearchRequest& request,
                              Deadline& deadline);

// The documents of MatchingFilter, less the pinned ones (`excluded`). nullopt: all documents.
Result<std::optional<DocSet>> AllowedDocuments(const index::Snapshot& snapshot,
                                               const SearchRequest& request, Deadline& deadline);

// The documents of `allowed` that contain none of the words and phrases that the query excludes.
std::optional<DocSet> WithoutNegatives(std::optional<DocSet> allowed, const ParsedQuery& query,
                                       QueryEvaluator& evaluator);

}  // namespace gannet::search
