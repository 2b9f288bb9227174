// A search from its request to the body of its response. Start reading here: execute.cc names the
// steps in order, each in its own file.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "index/index.h"
#include "search/response.h"
#include "search/caller.h"
#include "search/pins.h"
#include "search/request.h"
#include "search/search_run.h"

namespace gannet::search {

// Ranks the hits of a search.
// from_start  also keeps the hits before the page, with details. Needed if a later step decides
//             which hits are on the page: pins, which shift other hits, or a merge with other
//             lists.
// Invalid, with the code as detail: the settings do not allow a parameter.
Result<std::unique_ptr<SearchRun>> RunSearch(std::shared_ptr<const index::Snapshot> snapshot,
                                             SearchRequest request, bool from_start = false);

// Continues a run that needs a vector: ranks by vectors, and merges those hits with the hits by
// words.
// vector  nullopt: there is no vector, so the hits by words are the result
// Invalid: invalid_vector_dimensions.
Status AddVector(SearchRun& run, std::optional<std::vector<float>> vector, bool from_start,
                 const CancelFlag& cancelled);

// A hybrid search whose hits by words are not good enough, and which waits for its vector. It keeps
// its snapshot even if the index changes.
class PendingSearch {
 public:
  // Writes the response for a run.
  using Finish = Result<SearchResponse> (*)(SearchRun& run, const std::vector<PinnedDocument>& pins,
                                            const json::Value& request, const Caller& caller);
  PendingSearch(std::unique_ptr<SearchRun> run, std::vector<PinnedDocument> pins,
                std::string_view request_json, Finish finish, const Caller& caller);

  // Completes the search. The time spent waiting does not count against its time limit. Call it
  // once. Invalid: as AddVector.
  Result<SearchResponse> Resume(std::optional<std::vector<float>> vector, const Caller& caller);
  // The time limit of a search in this index, in milliseconds.
  uint64_t cutoff_ms() const { return CutoffMs(run_->snapshot()); }

 private:
  std::unique_ptr<SearchRun> run_;
  std::vector<PinnedDocument> pins_;
  std::string request_json_;
  Finish finish_;
  uint64_t taken_us_;
};

// Runs a search and writes its response; if it needs a vector, returns only the head.
// request  JSON of EngineSearchRequest (src/search/plan.ts)
// Invalid, with the code as detail: as RunSearch; bad_request: the response would be larger than
// `responseBytesMax` of the request. Internal: the request is incomplete.
Result<SearchResponse> ExecuteSearch(index::Index& index, std::string_view request,
                                     const Caller& caller);
// The same for a facet search. request: JSON of EngineFacetSearchRequest.
Result<SearchResponse> ExecuteFacetSearch(index::Index& index, std::string_view request,
                                          const Caller& caller);

}  // namespace gannet::search
