// Searching among the values of one facet (docs/behaviour/facets.md).
//
// Query and values are compared as whole strings in lossy form. A value matches when what is read
// of it from the left comes within the allowed number of typos of the query and no shorter part of
// the query is nearer to it.
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

// Values of the facet that match, as many and in the order that the settings want; facet_query null
// or empty: all. locales: of the request; empty when it has none. for_merging: they will be added
// to those of other servers; where they come by count there are kMergedFacetValues at least.
// Invalid: facet_search_disabled, invalid_facet_search_facet_name.
Result<std::vector<FacetValue>> SearchFacet(const index::Snapshot& snapshot,
                                            std::string_view facet_name,
                                            const std::optional<std::string>& facet_query,
                                            const DocSet& candidates,
                                            std::span<const text::Locale> locales,
                                            bool for_merging = false);

// Appends them as `[{"value":"Action","count":12},...]`.
void AppendFacetHits(const std::vector<FacetValue>& hits, std::string& out);

// Decides whether strings match a query, quickly when they come in byte order. Errors count in
// characters; swapping two neighbours is one error.
class PrefixMatcher {
 public:
  // typos_max: 0 to 2.
  PrefixMatcher(std::string_view query, int typos_max);
  bool Matches(std::string_view string);
  // After Matches: how many leading bytes of the string settled the answer; all strings that begin
  // with them get the same one. Nullopt: the end of the string did.
  std::optional<size_t> settled_by() const { return settled_by_; }

 private:
  using Row = std::vector<uint8_t>;  // distances from what was read to each prefix of the query
  enum class Verdict : uint8_t { kOpen, kAccepted, kRefused };
  Verdict Judge(const Row& row) const;

  std::string bytes_;
  std::optional<size_t> settled_by_;
  std::u32string query_;
  int typos_max_;
  // One per character of the string looked at last, which the next one shares the beginning of.
  std::vector<Row> rows_;
  std::u32string read_;
  size_t depth_ = 0;  // rows_[0 .. depth_] are valid for read_
};

}  // namespace gannet::search
