// One search from its validated request to the finished response body. Start reading here.
#pragma once

#include <memory>
#include <utility>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_value.h"
#include "base/status.h"
#include "index/index.h"
#include "search/ranking/rank.h"
#include "search/results/highlighter.h"
#include "search/results/projection.h"

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

// What a search is told besides its request.
struct Caller {
  // started_us  monotonic time at which the request came in
  // gone        set once nobody waits for the answer any more
  Caller(uint64_t started, GoneFlag gone_flag = nullptr)
      : started_us(started), gone(std::move(gone_flag)) {}  // NOLINT: implicit

  uint64_t started_us;
  GoneFlag gone;
};

// A document that stands at a fixed place of the answer (docs/behaviour/search-rules.md).
struct Pin {
  std::string id;  // external
  uint32_t position = 0;
};

// A pin whose document is there and meets the filter.
struct PinnedDocument {
  DocId docid;
  uint32_t position = 0;
};

// The parameters of a search, defaults applied. JSON as in src/search/plan.ts.
struct SearchRequest {
  static Result<SearchRequest> FromJson(const json::Value& object);

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
  // Documents that are not ranked: they stand elsewhere. May be null.
  std::shared_ptr<const DocSet> excluded;
  // Documents that meet the filter, where that was found out before. May be null.
  std::shared_ptr<const DocSet> matching;
  bool hidden_vectors = false;  // also where `_vectors` is not displayed
  // One half of a hybrid search.
  bool half = false;
  // Totals and candidates are those of all documents, also of those behind the page.
  bool exhaustive = false;
  // false: candidates() is not asked for, only their number.
  bool needs_candidates = true;
  uint64_t answer_bytes_max = UINT64_MAX;
  GoneFlag gone;  // of the caller

  bool paged() const { return page.has_value() || hits_per_page.has_value(); }
  SearchKind kind() const {
    if (!hybrid) return SearchKind::kWords;
    return hybrid->ratio == 1 ? SearchKind::kSemantic : SearchKind::kHybrid;
  }
};

// When a search that begins now must end.
Deadline DeadlineOf(const index::Snapshot& snapshot, const SearchRequest& request);

// A search that has been run: what responses are made of. A hybrid search is two of them and their
// merged hits.
class SearchRun {
 public:
  // from_start: keep the hits before the offset too, with details (for merging lists).
  // deadline: that of the search which this is a part of; null: it has its own.
  static Result<std::unique_ptr<SearchRun>> Run(std::shared_ptr<const index::Snapshot> snapshot,
                                                SearchRequest request, bool from_start = false,
                                                const Deadline* deadline = nullptr);
  // The documents nearest to one, itself left out (docs/behaviour/vectors.md); of several
  // embeddings those at the same place are compared. Of the request the page, `hybrid`'s embedder,
  // filter, threshold and what concerns hits count.
  static Result<std::unique_ptr<SearchRun>> RunSimilar(
      std::shared_ptr<const index::Snapshot> snapshot, SearchRequest request, DocId target,
      const Deadline* deadline = nullptr);

  const SearchRequest& request() const { return request_; }
  const index::Snapshot& snapshot() const { return *snapshot_; }
  const std::vector<Hit>& hits() const;
  // Documents that count for totals and facets. REQUIRES: SearchRequest::needs_candidates
  const DocSet& candidates() const { return candidates_; }
  uint64_t total() const { return total_; }  // of candidates, capped
  // A hybrid search whose words alone are not good enough, and whose vector is not known yet: there
  // are no hits. Ask again with a vector or `without_vector`.
  bool needs_vector() const { return needs_vector_; }
  // Hits that vectors have found; none: the search was made by words alone, and was to be.
  std::optional<uint64_t> semantic_hit_count() const { return semantic_hit_count_; }
  // What was searched with; null: no vector.
  const std::vector<float>* query_vector() const {
    return uses_vector_ ? &*request_.vector : nullptr;
  }

  // The places of the page, [first, second), whatever is kept before it.
  std::pair<uint64_t, uint64_t> window() const { return window_; }

  // Appends one hit as a JSON object. extra: members to add, without a leading comma. pin: what put
  // it there; null: its rank did.
  Status AppendHit(const Hit& hit, std::string_view extra, std::string& out,
                   const PinnedDocument* pin = nullptr);

 private:
  SearchRun(std::shared_ptr<const index::Snapshot> snapshot, SearchRequest request);
  Status RunHalves(bool from_start);
  void Start(bool from_start, const Deadline* deadline = nullptr);
  Status Prepare();
  Status PrepareScan();
  // Whether the hits of the words alone will do (docs/behaviour/vectors.md).
  bool WordsAreEnough() const;
  // Of the halves, as they have been run. words_only: vectors add no hits.
  void Merge(bool words_only);
  Status MakeScope();
  DocSet WithoutNegatives(DocSet allowed);
  std::vector<text::Locale> QueryLocales() const;
  void PrepareHits();
  MatchTerms CollectMatchTerms();

  std::shared_ptr<const index::Snapshot> snapshot_;
  SearchRequest request_;
  FieldScope scope_;
  ParsedQuery query_;
  std::vector<SortCriterion> sort_;
  std::deque<SortCriterion> custom_sort_;
  std::unique_ptr<Graph> graph_;
  std::unique_ptr<Distinct> distinct_;
  RankOptions options_;
  std::optional<Deadline> deadline_;
  std::pair<uint64_t, uint64_t> window_;
  std::unique_ptr<VectorScan> scan_;
  std::unique_ptr<Ranker> ranker_;
  std::unique_ptr<SearchRun> words_, semantic_;  // the halves of a hybrid search
  std::vector<Hit> merged_;                      // of a hybrid search
  DocSet candidates_;
  uint64_t total_ = 0;
  std::optional<uint64_t> semantic_hit_count_;
  bool needs_vector_ = false, uses_vector_ = false;
  // For writing hits, made when the first one is written.
  std::optional<Projection> projection_;
  std::optional<Highlighter> highlighter_;
  std::unique_ptr<segment::RowCodec> codec_;
  std::vector<segment::RowField> fields_;
};

// The documents that pins name, where there are such, in the order of precedence. To be called
// before the snapshot is taken that is searched: an older one could lack what they name.
Result<std::vector<PinnedDocument>> FindPins(index::Index& index, const std::vector<Pin>& pins);
// Those of them that are in the snapshot and meet the filter of the request, each document once, by
// position; `request.excluded` becomes the set of them, `request.matching` what the filter was
// found to leave within the time of a search.
Status KeepPins(const index::Snapshot& snapshot, SearchRequest& request,
                std::vector<PinnedDocument>& pins);

// The whole response body of a search. Invalid without detail: it would be larger than
// `answerBytesMax` of the request.
Result<std::string> ExecuteSearch(index::Index& index, std::string_view request,
                                  const Caller& caller);
Result<std::string> ExecuteFacetSearch(index::Index& index, std::string_view request,
                                       const Caller& caller);
// Whether `out` is larger than an answer may be.
Status CheckAnswerSize(const std::string& out, uint64_t bytes_max);

uint64_t MonotonicMicroseconds();
void AppendVector(std::span<const float> vector, std::string& out);
// A version 7 UUID (RFC 9562).
std::string MakeUuid7();

}  // namespace gannet::search
