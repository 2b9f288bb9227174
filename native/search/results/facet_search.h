// Searching the values of one facet (docs/behaviour/facets.md).
//
// Query and values are compared as whole strings in lossy form. A value matches if some prefix of
// it is within the allowed number of typos of the query, and no shorter prefix of the query is
// nearer to that prefix.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/results/facet_counts.h"
#include "text/locale.h"

namespace gannet::search {

// The values of the facet that match, limited and ordered by the settings.
// facet_query  null or empty: all values match
// locales      those of the request; empty: it has none
// for_merging  the result will be merged with those of other servers; values ordered by count are
//              then at least kMergedFacetValues, if there are that many
// top          this number of the most frequent values, whatever the settings say
// Invalid: facet_search_disabled, invalid_facet_search_facet_name.
Result<std::vector<FacetValue>> SearchFacet(const index::Snapshot& snapshot,
                                            std::string_view facet_name,
                                            const std::optional<std::string>& facet_query,
                                            const DocSet& candidates,
                                            std::span<const text::Locale> locales,
                                            bool for_merging = false,
                                            std::optional<uint64_t> top = std::nullopt);

// Appends them as `[{"value":"Action","count":12},...]`.
void AppendFacetHits(const std::vector<FacetValue>& hits, std::string& out);

// Decides whether strings match a query; fast if they come in byte order. Errors count in
// characters; a swap of two adjacent characters is one error.
class PrefixMatcher {
 public:
  // typos_max: 0 to 2.
  PrefixMatcher(std::string_view query, int typos_max);
  bool Matches(std::string_view string);
  // After Matches: the number of leading bytes of the string that decided the result; all strings
  // with the same prefix have the same result. nullopt: only the end of the string decided it.
  std::optional<size_t> settled_by() const { return settled_by_; }

 private:
  using Row =
      std::vector<uint8_t>;  // distances from the characters read to each prefix of the query
  enum class Verdict : uint8_t { kOpen, kAccepted, kRefused };
  Verdict Judge(const Row& row) const;

  std::string bytes_;
  std::optional<size_t> settled_by_;
  std::u32string query_;
  int typos_max_;
  // One row per character of the last string; the next string reuses those of their common prefix.
  std::vector<Row> rows_;
  std::u32string read_;
  size_t depth_ = 0;  // rows_[0 .. depth_] are valid for read_
};

}  // namespace gannet::search
