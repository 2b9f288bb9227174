// The bodies of responses (docs/behaviour/results.md).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "base/status.h"
#include "search/caller.h"
#include "search/pins.h"
#include "search/search_run.h"

namespace gannet::search {

class Page;
class PendingSearch;

// What the server needs to know about a response without parsing it: ResultHead in
// src/engine/native.ts. Not the head of an HTTP response.
struct ResponseHead {
  uint64_t processing_time_ms = 0;
  bool degraded = false;               // the deadline passed before the search was complete
  std::optional<uint64_t> total_hits;  // nullopt: the response has no total
  // The whole documents of the first `reranked` hits, as a list of ChunkDocument
  // (src/embedding/render.ts) whose ids are the positions of the hits. Empty if none are requested,
  // and for fewer than two hits.
  std::string sources;
  // The uid of each query, if responses of servers were merged with their metadata; else empty.
  std::vector<std::string> query_uids;
  // What each of two lists has given to a drafted page: the beginnings of the keys of the documents
  // (federation/merge_keys.h), eight digits each. Else empty.
  std::vector<std::string> teams;
  // Set if the search needs a vector to continue; the body is then empty. Usually null.
  std::shared_ptr<PendingSearch> needs_vector;
};

struct SearchResponse {
  std::string body;
  ResponseHead head;
  // Set if the request keeps the page for later steps; the body is then empty.
  std::shared_ptr<Page> page = nullptr;
};

// Stores in `head` how long the search has taken so far.
// cutoff_ms  time limit of the search
void SetTimes(const Caller& caller, uint64_t cutoff_ms, ResponseHead& head);

// Checks that `out` has at most `bytes_max` bytes. Invalid, bad_request: it is larger.
Status CheckResponseSize(const std::string& out, uint64_t bytes_max);

// The body of a search response.
// hits       the hits of the page
// pin_count  number of pins on all pages
// request    JSON that the search was read from
Result<SearchResponse> WriteSearchResponse(const SearchRun& run, const std::vector<PageHit>& hits,
                                           size_t pin_count, const json::Value& request,
                                           const Caller& caller);
// The body of the response to a facet search.
Result<SearchResponse> WriteFacetSearchResponse(const SearchRun& run, const json::Value& request,
                                                const Caller& caller);

// Appends the hits to a page. Corruption: a stored document is damaged. Invalid: as
// CheckResponseSize.
Status AppendHits(const SearchRun& run, const std::vector<PageHit>& hits, Page& page);

// Appends the members of the facets that the request names; other members precede them.
Status AppendFacetsOf(const SearchRun& run, std::string& out);

// Appends the members for the page and the totals; other members precede them.
void AppendPage(const PageMembers& page, uint64_t total, std::string& out);

// Appends the member `degraded`, which names what the response had to do without.
void AppendDegraded(bool lacks_vector, std::string& out);

// Appends `,"name":value`.
void AppendNumber(const char* name, uint64_t value, std::string& out);

}  // namespace gannet::search
