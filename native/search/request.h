// The parameters of a search, read from JSON.
//
// The server has already checked the request and added the defaults, which are declared in
// src/contract/ only. A parameter of the wrong type is taken as absent; a request without a
// parameter that has a default is refused.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "base/json_value.h"
#include "base/status.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/query/query.h"
#include "search/results/facet_measures.h"
#include "search/results/highlighter.h"
#include "text/locale.h"

namespace gannet::search {

// Internal: the object lacks one of the members, or has null.
// path  of the object in the request, with a dot at its end; empty: the request itself
Status RequireMembers(const json::Value& object, std::string_view path,
                      std::initializer_list<std::string_view> names);

// What ranks the hits of a search.
enum class SearchKind : uint8_t {
  kWords,     // or a placeholder search without a query
  kSemantic,  // vectors
  kHybrid,    // both, merged
};

// How the halves of a hybrid search become one list.
enum class Fusion : uint8_t {
  kScore,  // by their scores
  kRrf,    // by their ranks
};

// The parameter `hybrid`.
struct Hybrid {
  std::string embedder;
  double ratio = 0;  // of vectors
  std::optional<double> min_score = std::nullopt;
  std::optional<Fusion> fusion = std::nullopt;  // nullopt: that of the strategy
};

// The parameter `groupBy`. Its page is that of the best hits, which are distinct by the attribute.
struct GroupBy {
  // Internal: the object is incomplete.
  static Result<GroupBy> FromJson(const json::Value& object);

  std::string attribute;
  uint64_t hits = 0;              // of a group
  bool facets_per_group = false;  // facets count the best hits only
};

// The parameter `diversity`: at most `max` hits with one value of the attribute on each page.
struct Diversity {
  std::string attribute;
  uint64_t max = 0;
};

// A document pinned to a fixed position of the result, or hidden from it
// (docs/behaviour/search-rules.md).
struct Pin {
  std::string id;  // external
  uint32_t position = 0;
  bool hidden = false;
};

// A pin whose document exists and matches the filter.
struct PinnedDocument {
  DocId docid;
  uint32_t position = 0;
  bool hidden = false;
};

// Positions in a list of hits, [begin, end).
struct Window {
  uint64_t begin = 0, end = 0;
};

// How a request selects a page of its list: by number, or by offset and limit.
struct PageMembers {
  // Internal: the object has neither `page` and `hitsPerPage` nor `offset` and `limit`.
  static Result<PageMembers> FromJson(const json::Value& object);
  static PageMembers Numbered(uint64_t page, uint64_t per_page) { return {true, page, per_page}; }

  uint64_t size() const { return numbered ? per_page : limit; }
  // The positions of its hits. total_max: no position after this many hits can be reached.
  Window Positions(uint64_t total_max) const;

  bool numbered = false;
  uint64_t page = 0, per_page = 0;  // numbered
  uint64_t offset = 0, limit = 0;   // otherwise
};

// The parameters of a search. JSON as in src/search/plan.ts.
struct SearchRequest {
  // Leaves `page` empty unless there is `groupBy`. Internal: the object is incomplete.
  static Result<SearchRequest> FromJson(const json::Value& object);

  std::string q;
  std::vector<uint32_t> word_starts;  // member `segmentation`: see ParseQuery
  PageMembers page;
  std::string filter;                                // JSON text, empty when there is none
  bool contains_filter = false, multimodal = false;  // experimental features
  std::vector<std::string> sort;
  std::optional<std::string> distinct;
  std::vector<std::string> facets;
  bool automatic_facets = false;  // `auto`: those that divide the hits, in addition
  MeasuresByName measures;        // of facets
  std::optional<GroupBy> group;
  std::optional<Diversity> diversity;
  std::optional<std::vector<std::string>> attributes_to_retrieve, attributes_to_search_on;
  HighlightOptions format;
  std::optional<MatchingStrategy> strategy;  // nullopt: the strategy of the index
  bool show_score = false, show_details = false, retrieve_vectors = false;
  uint64_t show_passages = 0;  // of each hit, at most
  std::optional<double> threshold;
  std::vector<text::Locale> locales;
  std::optional<Hybrid> hybrid;  // nullopt if it would change nothing (docs/behaviour/vectors.md)
  std::optional<std::vector<float>> vector;
  bool without_vector = false;  // a hybrid search gets no vector and ranks by words only
  std::vector<Pin> pins;        // in order of precedence
  uint64_t response_bytes_max = UINT64_MAX;
  bool keeps_page = false;  // see SearchResponse
  // The number of first hits to be put into another order, with those of the page: the head of the
  // response has their documents. 0: none.
  uint64_t reranked = 0;

  // The members below are set by the engine, not by the request.
  //
  // Pinned documents. May be null.
  std::shared_ptr<const DocSet> pinned;
  std::vector<PinnedDocument> pinned_at;  // the same by position
  // Pinned and hidden documents, which are not ranked. (Documents with negative words are excluded
  // elsewhere.) May be null.
  std::shared_ptr<const DocSet> excluded;
  // Documents that match the filter, if already known. May be null.
  std::shared_ptr<const DocSet> matching;
  // The number of hits on the first page, if the request asks for more than a page.
  std::optional<uint64_t> first_page;
  // Words are never enough for a hybrid search.
  bool needs_vectors = false;
  // The end of the search, if other searches of the request share it.
  std::optional<Deadline> deadline;
  bool hidden_vectors = false;  // retrieve vectors even if `_vectors` is not displayed
  // This is one half of a hybrid search.
  bool half = false;
  // Count all documents for totals and candidates, including those after the page.
  bool exhaustive = false;
  // Whether the set of candidates (the documents that count for totals and facets) is needed, not
  // only its size.
  bool needs_candidates = true;
  CancelFlag cancelled;  // set once the caller has cancelled, see Caller

  SearchKind kind() const {
    if (!hybrid) return SearchKind::kWords;
    return hybrid->ratio == 1 ? SearchKind::kSemantic : SearchKind::kHybrid;
  }
  bool has_facets() const { return automatic_facets || !facets.empty(); }
  MatchingStrategy StrategyOf(const index::Settings& settings) const;
  // Scores of `natural` and similarities have no common scale, so they are fused by rank unless the
  // request names another fusion. REQUIRES: the request has `hybrid`.
  Fusion FusionOf(const index::Settings& settings) const;
  // The positions that are ranked for the page. total_max: as for PageMembers::Positions.
  Window RankedWindow(uint64_t total_max) const;
  // The number of hits on the first page, whichever page is wanted.
  uint64_t FirstPage(uint64_t total_max) const;
};

// The time limit of a search in milliseconds.
uint64_t CutoffMs(const index::Snapshot& snapshot);
// The deadline of a search that starts now.
Deadline DeadlineOf(const index::Snapshot& snapshot, const SearchRequest& request);

}  // namespace gannet::search
