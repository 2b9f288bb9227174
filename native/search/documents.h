// Reading stored documents: one by its id, or many by filter, ids and sort (indexing.md 8).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "index/index.h"

namespace gannet::search {

// The document as JSON, or nullopt when the id is unknown.
Result<std::optional<std::string>> GetDocument(index::Index& index, std::string_view id,
                                               const std::optional<std::vector<std::string>>& fields,
                                               bool retrieve_vectors);

// request: JSON of the parameters of documents/fetch. The result is the response body.
Result<std::string> FetchDocuments(index::Index& index, std::string_view request);

}  // namespace gannet::search
