// The bodies of answers (docs/behaviour/results.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "base/status.h"
#include "search/caller.h"
#include "search/pins.h"
#include "search/search_run.h"

namespace gannet::search {

// Whether `out` is no larger than an answer may be. Invalid, bad_request: it is.
Status CheckAnswerSize(const std::string& out, uint64_t bytes_max);

// The body of a search.
// page     its hits, and `pin_count` pins on all pages
// request  JSON that the search was read from
Result<std::string> SearchAnswer(const SearchRun& run, const std::vector<PlacedHit>& page,
                                 size_t pin_count, const json::Value& request,
                                 const Caller& caller);
// The body of a search among the values of a facet.
Result<std::string> FacetSearchAnswer(const SearchRun& run, const json::Value& request,
                                      const Caller& caller);

// Appends the hits of a page as JSON objects, with commas between them.
// Corruption: a stored document is damaged. Invalid: as CheckAnswerSize.
Status AppendHits(const SearchRun& run, const std::vector<PlacedHit>& page, std::string& out);

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
