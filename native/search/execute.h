// One search from its request to the body of its answer. Start reading here: execute.cc names the
// steps in order, each in a file of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "index/index.h"
#include "search/answer.h"
#include "search/caller.h"
#include "search/pins.h"
#include "search/request.h"
#include "search/search_run.h"

namespace gannet::search {

// from_start: keep the hits before the page too, with details (for merging lists).
// Invalid, with the code as detail: a parameter does not go with the settings.
Result<std::unique_ptr<SearchRun>> RunSearch(std::shared_ptr<const index::Snapshot> snapshot,
                                             SearchRequest request, bool from_start = false);

// Goes on with a run that needs a vector: what words have found is merged with what vectors find.
// vector  none: there is none to be had, words have to do
// Invalid: invalid_vector_dimensions.
Status AddVector(SearchRun& run, std::optional<std::vector<float>> vector, bool from_start,
                 const CancelFlag& gone);

// A hybrid search whose words are ranked and not good enough, until its vector is known. Keeps its
// snapshot, whatever becomes of the index.
class PendingSearch {
 public:
  // Writes the answer of a run.
  using Finish = Result<Answer> (*)(const SearchRun& run, const std::vector<PinnedDocument>& pins,
                                    const json::Value& request, const Caller& caller);
  PendingSearch(std::unique_ptr<SearchRun> run, std::vector<PinnedDocument> pins,
                std::string_view request_json, Finish finish, const Caller& caller);

  // Ends the search; the time between counts for nothing. Once. Invalid: as AddVector.
  Result<Answer> Resume(std::optional<std::vector<float>> vector, const Caller& caller);
  // The time that a search of its index has.
  uint64_t cutoff_ms() const { return CutoffMs(run_->snapshot()); }

 private:
  std::unique_ptr<SearchRun> run_;
  std::vector<PinnedDocument> pins_;
  std::string request_json_;
  Finish finish_;
  uint64_t taken_us_;
};

// Answers a search, or gives its head alone where it needs a vector.
// request  JSON of EngineSearchRequest (src/search/plan.ts)
// Invalid, with the code as detail: as RunSearch; bad_request: it would be larger than
// `responseBytesMax` of the request.
Result<Answer> ExecuteSearch(index::Index& index, std::string_view request, const Caller& caller);
// The same of a search among the values of a facet: EngineFacetSearchRequest.
Result<Answer> ExecuteFacetSearch(index::Index& index, std::string_view request,
                                  const Caller& caller);

}  // namespace gannet::search
