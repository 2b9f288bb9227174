// The bodies of answers (docs/behaviour/results.md).
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

class PendingSearch;

// What is known of an answer besides its bytes.
struct AnswerHead {
  uint64_t processing_time_ms = 0;
  bool degraded = false;               // the time was up before all was done
  std::optional<uint64_t> total_hits;  // none: the answer has no total
  // Where the request asks for `hitSpans`: of each hit of the body its first byte and the byte
  // behind it, and of a federated search the query that has found it.
  std::vector<uint32_t> hit_spans, hit_queries;
  // Of responses of servers that were merged with their metadata: by query; empty: not told.
  std::vector<std::string> query_uids;
  // The search has not ended, and there are no bytes: a vector is needed. Mostly null.
  std::shared_ptr<PendingSearch> needs_vector;
};

struct Answer {
  std::string body;
  AnswerHead head;
};

// Says in the head how long the search has taken until now.
// cutoff_ms  time that it had
void SetTimes(const Caller& caller, uint64_t cutoff_ms, AnswerHead& head);

// Whether `out` is no larger than an answer may be. Invalid, bad_request: it is.
Status CheckAnswerSize(const std::string& out, uint64_t bytes_max);

// The body of a search.
// page     its hits, and `pin_count` pins on all pages
// request  JSON that the search was read from
Result<Answer> SearchAnswer(const SearchRun& run, const std::vector<PlacedHit>& page,
                            size_t pin_count, const json::Value& request, const Caller& caller);
// The body of a search among the values of a facet.
Result<Answer> FacetSearchAnswer(const SearchRun& run, const json::Value& request,
                                 const Caller& caller);

// Appends the hits of a page as JSON objects, with commas between them, and their spans to `head`.
// Corruption: a stored document is damaged. Invalid: as CheckAnswerSize.
Status AppendHits(const SearchRun& run, const std::vector<PlacedHit>& page, AnswerHead& head,
                  std::string& out);

void AppendSpan(size_t begin, size_t end, AnswerHead& head);

// How a page was asked for: by its number, or by limit and offset.
struct PageMembers {
  bool numbered = false;
  uint64_t page = 1, per_page = 20;  // numbered
  uint64_t limit = 20, offset = 0;   // otherwise
};
PageMembers PageOf(const SearchRequest& request);
// Appends the members that tell the page and the totals, behind others.
void AppendPage(const PageMembers& page, uint64_t total, std::string& out);

// Appends `,"name":value`.
void AppendNumber(const char* name, uint64_t value, std::string& out);

}  // namespace gannet::search
