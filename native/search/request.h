// What a search asks for, read from its JSON.
//
// Requests were checked before (src/contract/search.ts): a parameter of another kind than its own
// counts as absent.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "base/json_value.h"
#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/query/query.h"
#include "search/results/highlighter.h"
#include "text/locale.h"

namespace gannet::search {

// What decides about the order of a search.
enum class SearchKind : uint8_t {
  kWords,     // or nothing: a placeholder search
  kSemantic,  // vectors
  kHybrid,    // both, merged
};

// The parameter `hybrid`.
struct Hybrid {
  std::string embedder;
  double ratio = 0.5;
  std::optional<double> min_score;
};

// A document that stands at a fixed place of the answer (docs/behaviour/search-rules.md).
struct Pin {
  std::string id;  // external
  uint32_t position = 0;
};

// Places of a list of hits, [begin, end).
struct Window {
  uint64_t begin = 0, end = 0;
};

// The parameters of a search, defaults applied. JSON as in src/search/plan.ts.
struct SearchRequest {
  static SearchRequest FromJson(const json::Value& object);

  std::string q;
  std::vector<uint32_t> word_starts;
  uint64_t offset = 0, limit = 20;
  std::optional<uint64_t> page, hits_per_page;
  std::string filter;                                // JSON text, empty when there is none
  bool contains_filter = false, multimodal = false;  // experimental features
  std::vector<std::string> sort;
  std::optional<std::string> distinct;
  std::vector<std::string> facets;
  std::optional<std::vector<std::string>> attributes_to_retrieve, attributes_to_search_on;
  HighlightOptions format;
  MatchingStrategy strategy = MatchingStrategy::kLast;
  bool show_score = false, show_details = false, retrieve_vectors = false;
  std::optional<double> threshold;
  std::vector<text::Locale> locales;
  std::optional<Hybrid> hybrid;  // none where it changes nothing (docs/behaviour/vectors.md)
  std::optional<std::vector<float>> vector;
  bool without_vector = false;  // of a hybrid search: there is none to be had, words have to do
  std::vector<Pin> pins;        // in the order of precedence
  uint64_t answer_bytes_max = UINT64_MAX;
  bool hit_spans = false;  // of AnswerHead

  // What the engine adds.
  // Documents that are not ranked: they stand elsewhere. May be null.
  std::shared_ptr<const DocSet> excluded;
  // Documents that meet the filter, where that was found out before. May be null.
  std::shared_ptr<const DocSet> matching;
  bool hidden_vectors = false;  // also where `_vectors` is not displayed
  // One half of a hybrid search.
  bool half = false;
  // Totals and candidates are those of all documents, also of those behind the page.
  bool exhaustive = false;
  // false: the candidates are not asked for, only their number.
  bool needs_candidates = true;
  CancelFlag gone;  // of the caller

  bool paged() const { return page.has_value() || hits_per_page.has_value(); }
  uint64_t per_page() const { return hits_per_page.value_or(20); }
  SearchKind kind() const {
    if (!hybrid) return SearchKind::kWords;
    return hybrid->ratio == 1 ? SearchKind::kSemantic : SearchKind::kHybrid;
  }
  // The places that the page shows. most: hits that can be reached at all.
  Window PageWindow(uint64_t most) const;
};

// Milliseconds that a search has.
uint64_t CutoffMs(const index::Snapshot& snapshot);
// When a search that begins now must end.
Deadline DeadlineOf(const index::Snapshot& snapshot, const SearchRequest& request);

}  // namespace gannet::search
