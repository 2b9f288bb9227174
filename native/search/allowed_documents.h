// Which documents a search may find, whatever it ranks.
#pragma once

#include <optional>

#include "base/deadline.h"
#include "base/status.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/query/query_evaluator.h"
#include "search/request.h"

namespace gannet::search {

// The documents that meet the filter of the request; all where it has none. After the deadline:
// those that are known to.
// Invalid: as index::EvaluateFilterJson.
Result<DocSet> MatchingFilter(const index::Snapshot& snapshot, const SearchRequest& request,
                              Deadline& deadline);

// The same without those that the request excludes. Nothing: all documents.
Result<std::optional<DocSet>> AllowedDocuments(const index::Snapshot& snapshot,
                                               const SearchRequest& request, Deadline& deadline);

// Those of `allowed` that hold none of the words and phrases that the query excludes.
// evaluator    of the query
std::optional<DocSet> WithoutNegatives(std::optional<DocSet> allowed, const ParsedQuery& query,
                                       QueryEvaluator& evaluator);

}  // namespace gannet::search
