// One search from its validated request to the finished response body. Start reading here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_value.h"
#include "base/status.h"
#include "index/index.h"
#include "search/format.h"
#include "search/rank.h"
#include "search/select.h"

namespace gannet::search {

// The parameters of a search, defaults applied. JSON as in src/search/plan.ts.
// What a search is told besides its request.
struct Caller {
  // started_us  monotonic time at which the request came in
  // gone        set once nobody waits for the answer any more
  Caller(uint64_t started, GoneFlag gone_flag = nullptr) : started_us(started), gone(std::move(gone_flag)) {}  // NOLINT: implicit

  uint64_t started_us;
  GoneFlag gone;
};

struct SearchRequest {
  static Result<SearchRequest> FromJson(const json::Value& object);

  std::string q;
  std::vector<uint32_t> word_starts;
  uint64_t offset = 0, limit = 20;
  std::optional<uint64_t> page, hits_per_page;
  std::string filter;  // JSON text, empty when there is none
  bool contains_filter = false, multimodal = false;  // experimental features
  std::vector<std::string> sort;
  std::optional<std::string> distinct;
  std::vector<std::string> facets;
  std::optional<std::vector<std::string>> attributes_to_retrieve, attributes_to_search_on;
  FormatOptions format;
  MatchingStrategy strategy = MatchingStrategy::kLast;
  bool show_score = false, show_details = false, retrieve_vectors = false;
  std::optional<double> threshold;
  std::vector<text::Locale> locales;
  // false: candidates() is not asked for, only their number.
  bool needs_candidates = true;
  uint64_t answer_bytes_max = UINT64_MAX;
  GoneFlag gone;  // of the caller

  bool paged() const { return page.has_value() || hits_per_page.has_value(); }
};

// A search that has been run: what responses are made of.
class SearchRun {
 public:
  // from_start: keep the hits before the offset too, with details (for merging lists).
  static Result<std::unique_ptr<SearchRun>> Run(std::shared_ptr<const index::Snapshot> snapshot, SearchRequest request,
                                                bool from_start = false);

  const SearchRequest& request() const { return request_; }
  const index::Snapshot& snapshot() const { return *snapshot_; }
  const std::vector<Hit>& hits() const;
  // Documents that count for totals and facets. REQUIRES: SearchRequest::needs_candidates
  const DocSet& candidates() const { return candidates_; }
  uint64_t total() const { return total_; }  // of candidates, capped

  // Appends one hit as a JSON object. extra: members to add, without a leading comma.
  Status AppendHit(const Hit& hit, std::string_view extra, std::string& out);

 private:
  SearchRun(std::shared_ptr<const index::Snapshot> snapshot, SearchRequest request);
  Status Prepare();
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
  std::unique_ptr<Ranker> ranker_;
  DocSet candidates_;
  uint64_t total_ = 0;
  // For writing hits, made when the first one is written.
  std::optional<Selection> selection_;
  std::optional<Formatter> formatter_;
  std::unique_ptr<segment::RowCodec> codec_;
  std::vector<segment::RowField> fields_;
};

// The whole response body of a search. Invalid without detail: it would be larger than `answerBytesMax` of the request.
Result<std::string> ExecuteSearch(index::Index& index, std::string_view request, const Caller& caller);
Result<std::string> ExecuteFacetSearch(index::Index& index, std::string_view request, const Caller& caller);
// Whether `out` is larger than an answer may be.
Status CheckAnswerSize(const std::string& out, uint64_t bytes_max);

uint64_t MonotonicMicroseconds();
// A version 7 UUID (RFC 9562).
std::string MakeUuid7();

}  // namespace gannet::search
