#include "search/federate.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/json_value.h"
#include "base/parallel_for.h"
#include "base/uuid.h"
#include "index/external_id.h"
#include "search/answer.h"
#include "search/execute.h"
#include "search/hits.h"
#include "search/ranking/score_key.h"
#include "search/results/facet_counts.h"

namespace gannet::search {
namespace {

constexpr uint64_t kHitsPerPageDefault = 20;
constexpr uint64_t kLimitDefault = 20;
// Of a merging search: hits behind the page whose distinct values are told.
constexpr size_t kFurtherDistinctMax = 100'000;

// Which part of the merged list is wanted.
struct Window {
  static Window Of(const json::Value& federation);

  uint64_t offset = 0, limit = kLimitDefault;
  bool paged = false;
  uint64_t page = 1, per_page = kHitsPerPageDefault;

  uint64_t end() const { return limit > UINT64_MAX - offset ? UINT64_MAX : offset + limit; }
};

Window Window::Of(const json::Value& federation) {
  Window window;
  const json::Value &page = federation["page"], &per_page = federation["hitsPerPage"];
  window.paged = !page.is_null() || !per_page.is_null();
  if (!window.paged) {
    window.offset = federation["offset"].integer(0);
    window.limit = federation["limit"].integer(kLimitDefault);
    return window;
  }
  window.page = page.integer(1);
  window.per_page = per_page.integer(kHitsPerPageDefault);
  window.limit = window.page == 0 ? 0 : window.per_page;
  const uint64_t before = window.page == 0 ? 0 : window.page - 1;
  // Pages far behind the end must not overflow.
  window.offset = window.per_page != 0 && before > UINT64_MAX / window.per_page
                      ? UINT64_MAX
                      : before * window.per_page;
  return window;
}

struct Query {
  std::string uid;
  double weight = 1;
  uint64_t position = 0;  // as reported
  SearchRequest request;
  std::vector<PinnedDocument> pins;  // by position
  std::shared_ptr<const index::Snapshot> snapshot;
  std::unique_ptr<SearchRun> run;
  std::unique_ptr<HitWriter> writer;  // once a hit is written
  Status status;
};

struct SearchedIndex {
  std::shared_ptr<const index::Snapshot> snapshot;
  std::vector<uint32_t> queries;  // none: only its facet list is checked
  std::optional<std::vector<std::string>> facets;
  DocSet rejected;  // by the distinct of the federation
  DocSet pinned;    // by any query
  std::vector<FacetDistribution> distributions;
  uint64_t candidate_count = 0;  // that distributions are of
};

// By uid, which is the order they are looked at.
using Indexes = std::map<std::string, SearchedIndex, std::less<>>;

Status Inside(const std::string& path, const Status& status) {
  return Status(status.code(), "Inside `" + path + "`: " + status.message(), status.detail());
}

std::string PathOf(size_t query) { return ".queries[" + std::to_string(query) + "]"; }
std::string PathOf(const std::string& uid) { return ".federation.facetsByIndex." + uid; }

// A hit of the merged list.
struct RankedHit {
  uint32_t query;
  Hit hit;
  const ScoreKey* scores;               // null: of a pin
  const PinnedDocument* pin = nullptr;  // null: its rank put it there
};

bool Before(const RankedHit& a, const RankedHit& b) {
  const int order = CompareScores(*a.scores, *b.scores);
  return order != 0 ? order < 0 : a.query < b.query;
}

// Gives the hits of several sources in order. Source: has `std::optional<RankedHit> Next()`.
template <typename Source>
class Merged {
 public:
  void Add(Source source) {
    sources_.push_back(std::move(source));
    Refill(sources_.size() - 1);
  }

  std::optional<RankedHit> Next() {
    if (heads_.empty()) return std::nullopt;
    std::pop_heap(heads_.begin(), heads_.end(), Later);
    const Head best = heads_.back();
    heads_.pop_back();
    Refill(best.source);
    return best.hit;
  }

 private:
  struct Head {
    RankedHit hit;
    size_t source;
  };
  static bool Later(const Head& a, const Head& b) { return Before(b.hit, a.hit); }

  void Refill(size_t source) {
    const auto hit = sources_[source].Next();
    if (!hit) return;
    heads_.push_back({*hit, source});
    std::push_heap(heads_.begin(), heads_.end(), Later);
  }

  std::deque<Source> sources_;  // hits in heads_ point into them: they stay where they are
  std::vector<Head> heads_;     // a heap, the best hit on top
};

class QueryHits {
 public:
  QueryHits(const Query& query, uint32_t number) : query_(&query), number_(number) {}

  std::optional<RankedHit> Next() {
    const auto& hits = query_->run->hits();
    if (at_ == hits.size()) return std::nullopt;
    const Hit& hit = hits[at_++];
    // The hits of a bucket share their details.
    if (lists_.empty() || hit.detail != last_)
      lists_.push_back(ScoreKey::Of(hit.detail, query_->weight));
    last_ = hit.detail;
    return RankedHit{number_, hit, &lists_.back()};
  }

 private:
  const Query* query_;
  uint32_t number_;
  size_t at_ = 0;
  const Detail* last_ = nullptr;
  std::deque<ScoreKey> lists_;  // hits given out point into it
};

// The hits of all queries on one index, each document once.
class IndexHits {
 public:
  IndexHits(const std::vector<Query>& queries, const std::vector<uint32_t>& numbers) {
    for (const uint32_t number : numbers) merged_.Add(QueryHits(queries[number], number));
    several_ = numbers.size() > 1;
  }

  std::optional<RankedHit> Next() {
    for (;;) {
      const auto hit = merged_.Next();
      if (!hit || !several_ || seen_.insert(hit->hit.docid).second) return hit;
    }
  }

 private:
  Merged<QueryHits> merged_;
  bool several_ = false;
  std::unordered_set<DocId> seen_;
};

// The values of the documents kept so far, over all indexes.
class DistinctValues {
 public:
  explicit DistinctValues(std::string field) : field_(std::move(field)) {}

  // Of a document: texts behind an s, numbers behind an n.
  static std::vector<std::string> Of(const index::Snapshot& snapshot, std::string_view name,
                                     DocId docid) {
    std::vector<std::string> values;
    const auto field = snapshot.fields->Find(name);
    if (!field) return values;
    for (const auto& segment : snapshot.segments) {
      if (!segment->live.Contains(docid)) continue;
      const segment::ColumnReader* column = segment->columns->Find(*field);
      const int64_t local = segment->text->Find(docid);
      if (column == nullptr || local < 0) return values;
      column->ForEachValue(static_cast<uint32_t>(local), [&](segment::ValueOrdinal value) {
        if (value >= column->number_count()) {
          values.emplace_back("s") += column->string(value - column->number_count());
        } else {
          values.emplace_back("n");
          AppendJsonNumber(values.back(), column->numbers()[value]);
        }
      });
      break;
    }
    return values;
  }

  // False: the document shares a value with one that was kept. True: its values are taken.
  bool Keep(const index::Snapshot& snapshot, DocId docid) {
    const std::vector<std::string> values = Of(snapshot, field_, docid);
    for (const std::string& value : values) {
      if (taken_.contains(value)) return false;
    }
    taken_.insert(values.begin(), values.end());
    return true;
  }

 private:
  std::string field_;
  std::unordered_set<std::string> taken_;
};

// FNV-1a. Another server computes it too (src/network/document-key.ts).
uint64_t HashText(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : text) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  return hash;
}

void AppendHash(std::string& out, std::string_view text) {
  static constexpr char kDigits[] = "0123456789abcdef";
  const uint64_t hash = HashText(text);
  out += '"';
  for (int shift = 60; shift >= 0; shift -= 4) out += kDigits[hash >> shift & 15];
  out += '"';
}

void AppendScoreKey(const ScoreKey& key, std::string& out) {
  out += '[';
  for (size_t i = 0; i < key.components.size(); ++i) {
    if (i > 0) out += ',';
    const ScoreKey::Component& component = key.components[i];
    if (component.sort == nullptr) {
      out += component.by_vector ? "{\"vectorSort\":" : "{\"weightedScore\":";
      AppendJsonNumber(out, component.relevancy);
      out += '}';
      continue;
    }
    const bool geo = component.sort->kind == SortCriterion::Kind::kGeo;
    out += geo ? "{\"geoSort\":{\"asc\":" : "{\"sort\":{\"asc\":";
    out += component.sort->ascending ? "true," : "false,";
    if (!geo) {
      AppendSortValueJson(*component.value, out);
    } else if (component.value->kind == SortValue::Kind::kGeo) {
      out += "\"distance\":";
      AppendJsonNumber(out, std::round(component.value->distance * 1000) / 1000);
    } else {
      out += "\"distance\":null";
    }
    out += "}}";
  }
  out += ']';
}

class FederatedSearch {
 public:
  FederatedSearch(std::string_view request, GoneFlag gone)
      : gone_(std::move(gone)),
        request_(json::Value::Parse(request)),
        federation_(request_["federation"]),
        window_(Window::Of(federation_)) {
    if (federation_["distinct"].is_string()) distinct_ = federation_["distinct"].string();
  }

  Status Plan(std::span<index::Index* const> indexes);
  void Run();
  Status Merge();
  Status CountFacets();
  Result<std::string> Respond(const Caller& caller);

 private:
  // The answer will be merged with those of other servers.
  bool for_merging() const { return request_["forMerging"].boolean(false); }
  // Totals of pages are exact, also those of several servers: all values of the distinct attribute
  // are told.
  bool counts_values() const { return for_merging() && window_.paged; }
  uint64_t answer_bytes_max() const { return request_["answerBytesMax"].integer(UINT64_MAX); }
  Status CheckDistinct() const;
  Status CheckRules() const;
  static std::vector<std::vector<RuleClass>> ListsOf(const SearchRequest& request,
                                                     const index::Settings& settings,
                                                     const text::Analyzer& analyzer,
                                                     const std::vector<SortCriterion>& sort);
  Status CheckFacetOrders() const;
  // Drops pins that are not in force; the others leave the ranking of every query on their index.
  void PreparePins();
  uint64_t Total() const;
  DocSet CandidatesOf(const SearchedIndex& index) const;
  void AppendFacets(std::string& out) const;
  void AppendVectors(std::string& out) const;
  // What another server needs to merge the hit with its own.
  Status AppendMergeKeys(const RankedHit& hit, std::string& out) const;
  // The attribute whose values hits of the query share out; null: none.
  const std::string* DistinctOf(const Query& query) const;
  // Hashes of the values that the document of a hit has of it, with a comma between them.
  void AppendDistinctKeys(const RankedHit& hit, std::string& out) const;
  // Those of hits behind the page.
  void AppendFurtherDistinctKeys(std::string& out) const;

  GoneFlag gone_;
  json::Value request_;
  const json::Value& federation_;
  Window window_;
  std::optional<std::string> distinct_;
  std::vector<Query> queries_;
  Indexes indexes_;
  Merged<IndexHits> merged_;
  std::vector<RankedHit> pins_;  // of all queries, by position
  std::vector<RankedHit> page_;
  std::vector<RankedHit> further_;  // behind the page, as far as their distinct values are told
};

Status FederatedSearch::Plan(std::span<index::Index* const> indexes) {
  const auto& queries = request_["queries"].items();
  const auto others = request_["otherIndexes"].Strings().value_or(std::vector<std::string>());
  if (indexes.size() != queries.size() + others.size())
    return Status::Internal("an index is missing");
  const auto add = [&](const std::string& uid, index::Index* index) -> SearchedIndex& {
    SearchedIndex& searched = indexes_[uid];
    if (!searched.snapshot) searched.snapshot = index->snapshot();
    return searched;
  };
  // A document that a later step throws out makes room for another, from any position of a list.
  // Totals of pages count them all: what stays depends on the order.
  const bool all = distinct_ && (queries.size() > 1 || window_.paged);
  for (size_t i = 0; i < queries.size(); ++i) {
    Query query;
    query.request = SearchRequest::FromJson(queries[i]);
    GANNET_ASSIGN_OR_RETURN(query.pins, FindPins(*indexes[i], query.request.pins));
    queries_.push_back(std::move(query));
  }
  for (size_t i = 0; i < queries.size(); ++i) {
    Query& query = queries_[i];
    query.uid = queries[i]["indexUid"].string();
    SearchedIndex& searched = add(query.uid, indexes[i]);
    searched.queries.push_back(static_cast<uint32_t>(i));
    query.snapshot = searched.snapshot;
    const json::Value& options = queries[i]["federationOptions"];
    query.weight = options["weight"].number(1);
    query.position = options["queryPosition"].integer(i);
    SearchRequest& request = query.request;
    request.facets.clear();
    request.gone = gone_;
    request.answer_bytes_max = request.format.bytes_max = answer_bytes_max();
    request.offset = 0;
    const bool kept =
        all ||
        (counts_values() && (distinct_ || request.distinct || query.snapshot->settings->distinct));
    request.limit = kept ? UINT64_MAX : window_.limit == 0 ? 0 : window_.end();
    request.page.reset();
    request.hits_per_page.reset();
    if (window_.paged) {
      request.page = 1;
      request.hits_per_page = request.limit;
    }
    if (distinct_) request.distinct = distinct_;
  }
  for (size_t i = 0; i < others.size(); ++i) add(others[i], indexes[queries.size() + i]);
  for (const auto& [uid, list] : federation_["facetsByIndex"].members()) {
    const auto found = indexes_.find(uid);
    if (found != indexes_.end()) found->second.facets = list.Strings();
  }
  GANNET_RETURN_IF_ERROR(CheckDistinct());
  return CheckRules();
}

Status FederatedSearch::CheckDistinct() const {
  if (!distinct_) return Status::Ok();
  for (const auto& [uid, index] : indexes_) {
    if (index.queries.empty()) continue;
    const auto rule = index.snapshot->settings->Filterable(*distinct_);
    if (!rule || !rule->first.filterable()) {
      return Inside(
          ".federation.distinct",
          Status::Invalid("The attribute `" + *distinct_ + "` is not filterable in the index `" +
                              uid + "`. " + index.snapshot->settings->FilterableText(),
                          "invalid_search_distinct"));
    }
  }
  return Status::Ok();
}

// What orders the hits of a query: of a hybrid one the lists of both halves.
std::vector<std::vector<RuleClass>> FederatedSearch::ListsOf(
    const SearchRequest& request, const index::Settings& settings, const text::Analyzer& analyzer,
    const std::vector<SortCriterion>& sort) {
  std::vector<std::vector<RuleClass>> lists;
  if (request.kind() != SearchKind::kSemantic) {
    const bool has_terms = !ParseQuery(request.q, analyzer, request.locales, request.word_starts,
                                       settings.prefix_search)
                                .terms.empty();
    std::deque<SortCriterion> custom;
    lists.push_back(ClassesOf(RulesFor(settings, sort, has_terms, request.strategy, custom)));
  }
  if (request.kind() != SearchKind::kWords) {
    std::deque<SortCriterion> custom;
    std::vector<Rule> rules = VectorRulesFor(settings, sort, custom);
    rules.resize(ComparableVectorRules(settings, sort), Rule{RuleKind::kVector});
    lists.push_back(ClassesOf(rules));
  }
  return lists;
}

// Compares each query with the longest list of rules before it; they need only agree as far as the
// shorter one goes.
Status FederatedSearch::CheckRules() const {
  std::vector<RuleClass> longest;
  uint32_t longest_query = 0;
  for (const auto& [uid, index] : indexes_) {
    const index::Settings& settings = *index.snapshot->settings;
    for (const uint32_t number : index.queries) {
      const SearchRequest& request = queries_[number].request;
      const auto sort = ParseSort(request.sort, settings, "invalid_search_sort", true);
      if (!sort.ok()) continue;  // running it says the same, in its turn
      for (auto& classes : ListsOf(request, settings, *index.snapshot->analyzer, *sort)) {
        for (size_t i = 0; i < std::min(classes.size(), longest.size()); ++i) {
          if (classes[i].kind == longest[i].kind) continue;
          const std::string message =
              "The results cannot be compared with those of `" + PathOf(longest_query) +
              "`: they are ordered by " + classes[i].name + " where the others are ordered by " +
              longest[i].name + ". Use the same kinds of ranking rules and the same directions " +
              "of sort in the same order, or separate searches.";
          return Inside(PathOf(number),
                        Status::Invalid(message, "invalid_multi_search_query_ranking_rules"));
        }
        if (classes.size() > longest.size()) {
          longest = std::move(classes);
          longest_query = number;
        }
      }
    }
  }
  return Status::Ok();
}

void FederatedSearch::PreparePins() {
  ParallelFor(queries_.size(), [&](size_t i) {
    Query& query = queries_[i];
    query.status = KeepPins(*query.snapshot, query.request, query.pins);
  });
  for (uint32_t number = 0; number < queries_.size(); ++number) {
    Query& query = queries_[number];
    DocSet& pinned = indexes_[query.uid].pinned;
    // Of the pins of one document the first query's stands.
    std::erase_if(query.pins, [&](const PinnedDocument& pin) {
      if (pinned.Contains(pin.docid)) return true;
      pinned.Add(pin.docid);
      return false;
    });
    for (const PinnedDocument& pin : query.pins)
      pins_.push_back({number, Hit{pin.docid, nullptr}, nullptr, &pin});
  }
  std::stable_sort(pins_.begin(), pins_.end(), [](const RankedHit& a, const RankedHit& b) {
    return a.pin->position < b.pin->position;
  });
  for (auto& [uid, index] : indexes_) {
    if (index.pinned.empty()) continue;
    const auto excluded = std::make_shared<const DocSet>(index.pinned);
    for (const uint32_t number : index.queries) queries_[number].request.excluded = excluded;
  }
}

void FederatedSearch::Run() {
  PreparePins();
  std::atomic<size_t> first_failed{SIZE_MAX};
  ParallelFor(queries_.size(), [&](size_t i) {
    // What comes after a failure does not matter any more.
    if (i > first_failed.load()) return;
    Query& query = queries_[i];
    if (query.status.ok()) {
      auto run = RunSearch(query.snapshot, std::move(query.request), true);
      if (run.ok()) {
        query.run = std::move(*run);
        return;
      }
      query.status = run.status();
    }
    size_t known = first_failed.load();
    while (i < known && !first_failed.compare_exchange_weak(known, i)) {
    }
  });
}

Status FederatedSearch::Merge() {
  for (size_t i = 0; i < queries_.size(); ++i) {
    const auto& [uid, status] = std::tie(queries_[i].uid, queries_[i].status);
    if (status.ok()) continue;
    return Inside(PathOf(i), Status(status.code(), "Index `" + uid + "`: " + status.message(),
                                    status.detail()));
  }
  for (const auto& [uid, index] : indexes_) {
    if (!index.queries.empty()) merged_.Add(IndexHits(queries_, index.queries));
  }
  std::optional<DistinctValues> values;
  if (distinct_) values.emplace(*distinct_);
  // Totals of pages are exact: every document that goes must be found.
  const bool all = window_.paged && (values || for_merging());
  uint64_t kept = 0;
  size_t pin = 0;
  const auto place = [&](const RankedHit& hit) {
    if (kept >= window_.offset && kept < window_.end()) {
      page_.push_back(hit);
    } else if (counts_values() && further_.size() < kFurtherDistinctMax) {
      further_.push_back(hit);
    }
    ++kept;
  };
  while (all || (window_.limit > 0 && kept < window_.end())) {
    if (pin < pins_.size() && pins_[pin].pin->position <= kept) {
      place(pins_[pin++]);
      continue;
    }
    const auto hit = merged_.Next();
    if (!hit) {
      // Pins that are left follow the last hit.
      if (pin == pins_.size()) break;
      place(pins_[pin++]);
      continue;
    }
    if (values) {
      const Query& query = queries_[hit->query];
      if (!values->Keep(*query.snapshot, hit->hit.docid)) {
        indexes_[query.uid].rejected.Add(hit->hit.docid);
        continue;
      }
    }
    place(*hit);
  }
  return Status::Ok();
}

DocSet FederatedSearch::CandidatesOf(const SearchedIndex& index) const {
  std::vector<const DocSet*> sets;
  for (const uint32_t number : index.queries) sets.push_back(&queries_[number].run->candidates());
  DocSet candidates = DocSet::Union(sets);
  if (!index.rejected.empty()) candidates -= index.rejected;
  if (!index.pinned.empty()) candidates = candidates | index.pinned;
  return candidates;
}

uint64_t FederatedSearch::Total() const {
  uint64_t total = 0;
  for (const auto& [uid, index] : indexes_) {
    const bool plain = index.queries.size() == 1 && index.rejected.empty() && index.pinned.empty();
    total +=
        plain ? queries_[index.queries[0]].run->candidates().size() : CandidatesOf(index).size();
  }
  return total;
}

Status FederatedSearch::CountFacets() {
  for (const bool searched : {true, false}) {
    for (auto& [uid, index] : indexes_) {
      if (!index.facets || index.facets->empty() || index.queries.empty() == searched) continue;
      const DocSet candidates = CandidatesOf(index);
      index.candidate_count = candidates.size();
      auto distributions =
          search::CountFacets(*index.snapshot, *index.facets, candidates, for_merging());
      if (!distributions.ok()) {
        const Status& status = distributions.status();
        const char* note = searched ? "" : " (No query searches this index.)";
        return Inside(PathOf(uid), Status(status.code(), status.message() + note, status.detail()));
      }
      index.distributions = std::move(*distributions);
    }
  }
  return federation_["mergeFacets"].is_object() ? CheckFacetOrders() : Status::Ok();
}

Status FederatedSearch::CheckFacetOrders() const {
  std::map<std::string_view, std::pair<bool, std::string_view>>
      orders;  // field -> by count, in which index
  for (const auto& [uid, index] : indexes_) {
    for (const FacetDistribution& distribution : index.distributions) {
      const auto [known, added] =
          orders.try_emplace(distribution.field, distribution.by_count, uid);
      if (added || known->second.first == distribution.by_count) continue;
      const auto [other_by_count, other] = known->second;
      const auto name = [](bool by_count) { return std::string(by_count ? "`count`" : "`alpha`"); };
      const std::string message =
          "The values of the facet `" + distribution.field + "` are ordered by " +
          name(distribution.by_count) + " in the index `" + uid + "`, but by " +
          name(other_by_count) + " in the index `" + std::string(other) +
          "`. Give both the same order in `faceting.sortFacetValuesBy`, leave the facet out of " +
          "one of them, or remove `federation.mergeFacets`.";
      return Inside(PathOf(uid), Status::Invalid(message, "invalid_multi_search_facet_order"));
    }
  }
  return Status::Ok();
}

void FederatedSearch::AppendFacets(std::string& out) const {
  const auto requested = [](const auto& entry) {
    return entry.second.facets && !entry.second.queries.empty();
  };
  if (std::none_of(indexes_.begin(), indexes_.end(), requested)) return;
  const json::Value& merge = federation_["mergeFacets"];
  if (!merge.is_object()) {
    out += ",\"facetsByIndex\":{";
    bool first = true;
    for (const auto& entry : indexes_) {
      if (!requested(entry)) continue;
      if (!first) out += ',';
      first = false;
      AppendJsonString(out, entry.first);
      std::string text = "{";
      AppendFacetDistributions(entry.second.distributions, text);
      text += '}';
      const json::Value written = json::Value::Parse(text);
      out += ":{\"distribution\":";
      out += written["facetDistribution"].text();
      out += ",\"stats\":";
      out += written["facetStats"].text();
      if (for_merging()) {
        out += ",\"candidates\":";
        AppendJsonNumber(out, entry.second.candidate_count);
      }
      out += '}';
    }
    out += '}';
    return;
  }
  const json::Value& wanted = merge["maxValuesPerFacet"];
  const auto values_max = wanted.is_null() ? std::nullopt : std::optional(wanted.integer());
  std::map<std::string_view, std::vector<const FacetDistribution*>> parts;
  for (const auto& entry : indexes_) {
    if (!requested(entry)) continue;
    for (const FacetDistribution& distribution : entry.second.distributions) {
      parts[distribution.field].push_back(&distribution);
    }
  }
  std::vector<FacetDistribution> merged;
  for (const auto& [field, of_field] : parts)
    merged.push_back(MergeDistributions(of_field, values_max));
  out += ',';
  AppendFacetDistributions(merged, out);
}

// How many hits vectors have found, and what was searched with.
void FederatedSearch::AppendVectors(std::string& out) const {
  const auto by_vectors = [](const Query& query) {
    return query.run->semantic_hit_count().has_value();
  };
  if (std::any_of(queries_.begin(), queries_.end(), by_vectors)) {
    uint64_t count = 0;
    for (const RankedHit& hit : page_) count += hit.pin == nullptr && HasVector(hit.hit.detail);
    out += ",\"semanticHitCount\":";
    AppendJsonNumber(out, count);
  }
  bool first = true;
  for (const Query& query : queries_) {
    if (!query.run->request().retrieve_vectors || query.run->query_vector() == nullptr) continue;
    out += std::exchange(first, false) ? ",\"queryVectors\":{\"" : ",\"";
    AppendJsonNumber(out, query.position);
    out += "\":";
    AppendVector(*query.run->query_vector(), out);
  }
  if (!first) out += '}';
}

const std::string* FederatedSearch::DistinctOf(const Query& query) const {
  const auto& wanted = query.run->request().distinct;
  const auto& distinct = wanted ? wanted : query.snapshot->settings->distinct;
  return distinct ? &*distinct : nullptr;
}

void FederatedSearch::AppendDistinctKeys(const RankedHit& hit, std::string& out) const {
  const Query& query = queries_[hit.query];
  bool first = true;
  for (const std::string& value :
       DistinctValues::Of(*query.snapshot, *DistinctOf(query), hit.hit.docid)) {
    if (!std::exchange(first, false)) out += ',';
    AppendHash(out, value);
  }
}

void FederatedSearch::AppendFurtherDistinctKeys(std::string& out) const {
  if (!counts_values()) return;
  out += ",\"furtherDistinctKeys\":[";
  bool first = true;
  std::string keys;
  for (const RankedHit& hit : further_) {
    if (DistinctOf(queries_[hit.query]) == nullptr) continue;
    keys.clear();
    AppendDistinctKeys(hit, keys);
    if (keys.empty()) continue;
    out += std::exchange(first, false) ? "[" : ",[";
    AppendJsonNumber(out, queries_[hit.query].position);
    out += ',';
    out += keys;
    out += ']';
  }
  out += ']';
}

Status FederatedSearch::AppendMergeKeys(const RankedHit& hit, std::string& out) const {
  const Query& query = queries_[hit.query];
  const index::Snapshot& snapshot = *query.snapshot;
  out += ",\"weightedScoreValues\":";
  AppendScoreKey(hit.pin == nullptr ? *hit.scores : ScoreKey(), out);
  segment::RowCodec codec(snapshot.dictionary);
  std::vector<segment::RowField> fields;
  GANNET_ASSIGN_OR_RETURN(const std::string_view row,
                          codec.Expand(snapshot.FindRow(hit.hit.docid)));
  if (!segment::ParseRow(row, fields)) return Status::Corruption("a stored document is damaged");
  out += ",\"documentKey\":";
  AppendHash(out, index::ExternalIdOf(fields, *snapshot.fields, snapshot.primary_key));
  if (DistinctOf(query) == nullptr) return Status::Ok();
  out += ",\"distinctKeys\":[";
  AppendDistinctKeys(hit, out);
  out += ']';
  return Status::Ok();
}

Result<std::string> FederatedSearch::Respond(const Caller& caller) {
  std::string out;
  out.reserve(16 << 10);
  out += "{\"hits\":[";
  bool first = true;
  std::string extra;
  for (const RankedHit& hit : page_) {
    if (!first) out += ',';
    first = false;
    Query& query = queries_[hit.query];
    extra = "\"_federation\":{\"indexUid\":";
    AppendJsonString(extra, query.uid);
    extra += ",\"queriesPosition\":";
    AppendJsonNumber(extra, query.position);
    extra += ",\"weightedRankingScore\":";
    AppendJsonFloat(extra, hit.pin == nullptr ? hit.scores->global : query.weight);
    if (for_merging()) GANNET_RETURN_IF_ERROR(AppendMergeKeys(hit, extra));
    extra += '}';
    if (!query.writer) query.writer = std::make_unique<HitWriter>(*query.run);
    GANNET_RETURN_IF_ERROR(query.writer->Append({hit.hit, hit.pin}, extra, out));
    GANNET_RETURN_IF_ERROR(CheckAnswerSize(out, answer_bytes_max()));
  }
  const auto number = [&](const char* name, uint64_t value) {
    out += ",\"";
    out += name;
    out += "\":";
    AppendJsonNumber(out, value);
  };
  out += ']';
  const uint64_t total = Total();
  if (window_.paged) {
    const uint64_t per_page = window_.per_page;
    number("hitsPerPage", per_page);
    number("page", window_.page);
    number("totalPages", per_page == 0 ? 0 : total / per_page + (total % per_page != 0));
    number("totalHits", total);
  } else {
    number("limit", window_.limit);
    number("offset", window_.offset);
    number("estimatedTotalHits", total);
  }
  AppendFurtherDistinctKeys(out);
  AppendVectors(out);
  AppendFacets(out);
  out += ",\"requestUid\":";
  AppendJsonString(
      out, request_["requestUid"].is_string() ? request_["requestUid"].string() : MakeUuid7());
  if (request_["metadata"].is_array()) {
    out += ",\"metadata\":";
    out += request_["metadata"].text();
  }
  number("processingTimeMs", caller.elapsed_ms());
  out += '}';
  GANNET_RETURN_IF_ERROR(CheckAnswerSize(out, answer_bytes_max()));
  for (const auto& [uid, index] : indexes_) GANNET_RETURN_IF_ERROR(index.snapshot->Health());
  return out;
}

}  // namespace

Result<std::string> ExecuteFederatedSearch(std::span<index::Index* const> indexes,
                                           std::string_view request, const Caller& caller) {
  FederatedSearch search(request, caller.gone);
  GANNET_RETURN_IF_ERROR(search.Plan(indexes));
  search.Run();
  GANNET_RETURN_IF_ERROR(search.Merge());
  GANNET_RETURN_IF_ERROR(search.CountFacets());
  return search.Respond(caller);
}

}  // namespace gannet::search
