#include "search/execute.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>
#include <vector>

#include "base/json_value.h"
#include "base/parallel_for.h"
#include "base/stage_clock.h"
#include "search/allowed_documents.h"
#include "search/diversity.h"
#include "search/response.h"
#include "search/groups.h"
#include "search/hybrid.h"
#include "search/pins.h"
#include "search/ranked_list.h"
#include "search/ranking/rules.h"
#include "search/ranking/sort.h"
#include "search/results/distinct.h"
#include "search/results/facet_counts.h"
#include "search/searched_fields.h"

namespace gannet::search {
namespace {

using ListResult = Result<std::unique_ptr<RankedList>>;
using RunResult = Result<std::unique_ptr<SearchRun>>;

// The hits of a list to keep.
struct KeptHits {
  Window positions;
  bool scores = false;  // needed to merge with other hits
};

ParsedQuery QueryOf(const SearchRequest& request, const index::Snapshot& snapshot,
                    const FieldScope& scope) {
  const bool semantic = request.kind() == SearchKind::kSemantic;
  // The negatives of a hybrid search apply to both halves; a search by vectors alone has no words.
  if (semantic && !request.half) return {};
  const index::Settings& settings = *snapshot.settings;
  ParsedQuery query =
      ParseQuery(request.q, *snapshot.analyzer, QueryLocales(snapshot, scope, request.locales),
                 request.word_starts, settings.prefix_search, request.StrategyOf(settings));
  if (semantic) query.terms.clear();
  return query;
}

RankOptions OptionsOf(const SearchRequest& request, const KeptHits& kept, RankedList& list) {
  const bool score_min = request.hybrid && request.hybrid->min_score;
  RankOptions options;
  options.strategy = request.StrategyOf(*list.snapshot->settings);
  options.offset = kept.positions.begin;
  options.end = kept.positions.end;
  options.threshold = request.threshold;
  options.details = request.show_score || request.show_details || request.threshold || kept.scores;
  // How many documents are dropped on the way is known only when every document is ranked.
  options.exhaustive = (request.page.numbered || request.exhaustive || score_min) &&
                       (list.distinct != nullptr || request.threshold);
  if (!request.threshold && !request.needs_candidates)
    options.enough = list.snapshot->settings->max_total_hits;
  options.deadline = &list.deadline;
  return options;
}

// Ranks the documents of `allowed` (null: all) that match, and counts them.
void RankMatching(RankedList& list, const DocSet* allowed, bool needs_candidates) {
  Ranker& ranker = *list.ranker;
  const uint64_t total_max = list.snapshot->settings->max_total_hits;
  if (!needs_candidates && ranker.FindsMatches() && !list.deadline.Passed()) {
    ranker.RunAllowed(allowed);
    InStage stage("count");
    list.total = ranker.CountUniverse(allowed, total_max);
    return;
  }
  DocSet universe;
  {
    InStage stage("matching");
    universe = ranker.Universe(allowed);
    stage.Count("documents", universe.size());
    list.candidates = universe;
  }
  ranker.Run(std::move(universe));
  if (!ranker.excluded().empty()) list.candidates -= ranker.excluded();
  list.total = std::min<uint64_t>(list.candidates.size(), total_max);
}

// Runs a search by words or by vectors, from the request to ranked hits.
ListResult Rank(std::shared_ptr<const index::Snapshot> of, const SearchRequest& request,
                const KeptHits& kept, const Deadline& deadline) {
  auto list = std::make_unique<RankedList>(std::move(of), deadline);
  const index::Snapshot& snapshot = *list->snapshot;
  const bool semantic = request.kind() == SearchKind::kSemantic;

  InStage plan("plan");
  GANNET_ASSIGN_OR_RETURN(list->scope, SearchedFields(snapshot, request.attributes_to_search_on));
  GANNET_ASSIGN_OR_RETURN(list->distinct, DistinctOf(snapshot, request.distinct));
  GANNET_ASSIGN_OR_RETURN(std::optional<DocSet> allowed,
                          AllowedDocuments(snapshot, request, list->deadline));
  GANNET_ASSIGN_OR_RETURN(list->sort,
                          ParseSort(request.sort, *snapshot.settings, "invalid_search_sort", true));
  GANNET_RETURN_IF_ERROR(
      EvaluateConditions(snapshot, list->deadline, "invalid_search_sort", list->sort));
  GANNET_RETURN_IF_ERROR(ValidateFacets(snapshot, request.facets));
  plan.End();
  if (semantic) {
    InStage stage("vectors");
    GANNET_ASSIGN_OR_RETURN(list->scan, ScanOf(snapshot, request, deadline));
  }

  {
    InStage stage("terms");
    list->query = QueryOf(request, snapshot, list->scope);
    list->evaluator = std::make_unique<QueryEvaluator>(snapshot, list->scope, list->query);
    allowed = WithoutNegatives(std::move(allowed), list->query, *list->evaluator);
    stage.Count("terms", list->query.terms.size());
  }
  if (list->scan && request.hybrid->min_score) {
    InStage stage("vectors");
    const double score_min = *request.hybrid->min_score;
    allowed = list->scan->AtLeast(allowed ? *allowed : snapshot.documents, score_min);
  }

  list->options = OptionsOf(request, kept, *list);
  const bool words = !list->query.terms.empty();
  if (words && list->options.strategy == MatchingStrategy::kNatural) {
    InStage stage("matching");
    list->natural =
        std::make_unique<NaturalScan>(list->query, *list->evaluator, request.locales, deadline);
    allowed = list->natural->Matching(allowed ? &*allowed : nullptr);
  }
  InStage rules_stage("plan");
  QueryEvaluator* evaluator = words && !list->natural ? list->evaluator.get() : nullptr;
  Rules rules = RulesFor({.settings = *snapshot.settings,
                          .sort = list->sort,
                          .terms = list->query.terms.size(),
                          .strategy = list->options.strategy,
                          .by_vectors = semantic,
                          .scan = list->scan.get(),
                          .natural = list->natural.get()});
  rules_stage.End();
  {
    InStage stage("terms");
    list->ranker = std::make_unique<Ranker>(snapshot, evaluator, list->query, list->options,
                                            std::move(rules), list->distinct.get());
  }
  RankMatching(*list, allowed ? &*allowed : nullptr, request.needs_candidates);
  GANNET_RETURN_IF_ERROR(snapshot.Health());
  return list;
}

bool EnoughWords(const SearchRequest& request, const RankedList& words) {
  const Hybrid& hybrid = *request.hybrid;
  const index::Settings& settings = *words.snapshot->settings;
  const uint64_t first_page = request.FirstPage(settings.max_total_hits);
  return !request.needs_vectors && !hybrid.min_score &&
         request.FusionOf(settings) == Fusion::kScore &&
         WordsAreEnough(words.hits(), hybrid.ratio, first_page);
}

// Runs a search by words and by vectors. Words come first: if no other thread is idle, vectors are
// searched only if they are needed.
// depth  number of hits of each half; grows until the merged list reaches its end
RunResult RankHalves(std::shared_ptr<const index::Snapshot> snapshot, SearchRequest request,
                     const KeptHits& kept, Window window, const Deadline& deadline,
                     uint64_t depth) {
  GANNET_ASSIGN_OR_RETURN(
      const index::EmbedderSettings* embedder,
      EmbedderOf(*snapshot->settings, request.hybrid->embedder, "invalid_search_embedder"));
  // Even if words are enough, hits name the passages that are nearest to the vector.
  const bool names_passages = request.show_passages > 0 && !embedder->chunked.empty();
  const HybridHalves halves = HalvesOf(request, *snapshot->settings);
  const KeptHits all{{0, depth}, true};
  std::atomic<bool> enough{false};
  ListResult words(nullptr), semantic(nullptr);
  InStage stage("halves");
  ParallelFor(request.vector ? 2 : 1, [&](size_t half) {
    if (half == 1) {
      if (names_passages || !enough.load())
        semantic = Rank(snapshot, halves.semantic, all, deadline);
      return;
    }
    words = Rank(snapshot, halves.words, all, deadline);
    enough = words.ok() && EnoughWords(request, **words);
  });
  GANNET_RETURN_IF_ERROR(words.status());
  GANNET_RETURN_IF_ERROR(semantic.status());
  if (!request.vector && !request.without_vector && (names_passages || !enough.load())) {
    return std::make_unique<SearchRun>(std::move(request), window, std::move(*words), nullptr,
                                       std::nullopt);
  }
  HybridResult merged =
      MergeHalves(request, kept.positions, **words, semantic->get(), depth, enough.load());
  if (merged.cut)
    return RankHalves(std::move(snapshot), std::move(request), kept, window, deadline, 8 * depth);
  return std::make_unique<SearchRun>(std::move(request), window, std::move(*words),
                                     std::move(*semantic), std::move(merged));
}

// Ranks the hits of a list.
// window  the positions of the page
RunResult RankHits(std::shared_ptr<const index::Snapshot> snapshot, SearchRequest request,
                   const KeptHits& kept, Window window, const Deadline& deadline) {
  if (request.kind() == SearchKind::kHybrid) {
    const uint64_t depth = DepthOf(request, *snapshot, kept.positions.end);
    GANNET_ASSIGN_OR_RETURN(
        auto run, RankHalves(snapshot, std::move(request), kept, window, deadline, depth));
    const SearchRequest& ranked = run->request();
    // Documents that are dropped on the way lower the totals, so later pages repeat the first one.
    const Window first{0, ranked.FirstPage(snapshot->settings->max_total_hits)};
    const bool drops = ranked.threshold || run->list().distinct != nullptr;
    if (drops && first.end < kept.positions.end && !CountsBothHalves(ranked)) {
      const uint64_t counted_depth = DepthOf(ranked, *snapshot, first.end);
      GANNET_ASSIGN_OR_RETURN(auto counted, RankHalves(std::move(snapshot), ranked, {first, true},
                                                       first, deadline, counted_depth));
      run->CountAs(std::move(counted));
    }
    return run;
  }
  GANNET_ASSIGN_OR_RETURN(auto list, Rank(std::move(snapshot), request, kept, deadline));
  return std::make_unique<SearchRun>(std::move(request), window, std::move(list));
}

// The same with `diversity`: ranks as many hits as the pages up to the window depend on.
RunResult RankDiverse(const std::shared_ptr<const index::Snapshot>& snapshot,
                      const SearchRequest& request, const KeptHits& kept, Window window,
                      const Deadline& deadline) {
  const uint64_t total_max = snapshot->settings->max_total_hits;
  const auto times = [&](uint64_t count, uint64_t by) {
    return count > total_max / by ? total_max : count * by;
  };
  for (uint64_t depth = times(window.end, 4);; depth = times(depth, 8)) {
    GANNET_ASSIGN_OR_RETURN(
        auto run, RankHits(snapshot, request, {{0, depth}, kept.scores}, window, deadline));
    if (run->needs_vector()) return run;
    InStage stage("diversity");
    const bool whole = depth == total_max || run->hits().size() < depth;
    DiverseHits diverse = Diversify(*snapshot, request, run->hits(), window.end, whole);
    if (diverse.cut) continue;
    CutTo(kept.positions, diverse.hits);
    run->Show(std::move(diverse.hits));
    return run;
  }
}

// A facet search needs only the candidates.
void WantCandidatesOnly(SearchRequest& request, bool exhaustive) {
  request.page = exhaustive ? PageMembers::Numbered(0, 0) : PageMembers();
  request.sort.clear();
  request.facets.clear();
  request.automatic_facets = false;
  if (request.hybrid && !request.hybrid->min_score) {
    // Vectors find every document.
    request.hybrid.reset();
    request.q.clear();
    request.word_starts.clear();
  }
}

Result<SearchResponse> RespondWithPage(SearchRun& run, const std::vector<PinnedDocument>& pins,
                                       const json::Value& request, const Caller& caller) {
  return WriteSearchResponse(run, InsertPins(run.hits(), pins, run.window()), pins.size(), request,
                             caller);
}

Result<SearchResponse> RespondWithGroups(SearchRun& run,
                                         const std::vector<PinnedDocument>& /*pins*/,
                                         const json::Value& request, const Caller& caller) {
  return WriteGroupsResponse(std::move(run), request, caller);
}

Result<SearchResponse> RespondWithFacets(SearchRun& run,
                                         const std::vector<PinnedDocument>& /*pins*/,
                                         const json::Value& request, const Caller& caller) {
  return WriteFacetSearchResponse(run, request, caller);
}

// The response of a run, or its suspended state.
Result<SearchResponse> RespondOrWait(std::unique_ptr<SearchRun> run,
                                     std::vector<PinnedDocument> pins,
                                     std::string_view request_json, const json::Value& request,
                                     PendingSearch::Finish finish, const Caller& caller) {
  InStage stage("write");
  if (!run->needs_vector()) {
    Result<SearchResponse> response = finish(*run, pins, request, caller);
    InStage release("release");
    run.reset();
    return response;
  }
  SearchResponse response;
  response.head.needs_vector = std::make_shared<PendingSearch>(std::move(run), std::move(pins),
                                                               request_json, finish, caller);
  return response;
}

}  // namespace

RunResult RunSearch(std::shared_ptr<const index::Snapshot> snapshot, SearchRequest request,
                    bool from_start) {
  const Deadline deadline = DeadlineOf(*snapshot, request);
  const Window window = request.RankedWindow(snapshot->settings->max_total_hits);
  const KeptHits kept{{from_start ? 0 : window.begin, window.end}, from_start};
  if (request.diversity) {
    GANNET_RETURN_IF_ERROR(
        CheckFilterable(*snapshot->settings, request.diversity->attribute, "diversity"));
    if (window.begin < window.end) return RankDiverse(snapshot, request, kept, window, deadline);
  }
  return RankHits(std::move(snapshot), std::move(request), kept, window, deadline);
}

Status AddVector(SearchRun& run, std::optional<std::vector<float>> vector, bool from_start,
                 const CancelFlag& cancelled) {
  SearchRequest request = run.request();
  request.vector = vector;
  request.cancelled = cancelled;
  if (request.diversity) {
    // How deep the halves are ranked depends on the merged list.
    request.without_vector = !vector;
    GANNET_ASSIGN_OR_RETURN(auto diverse,
                            RunSearch(run.list().snapshot, std::move(request), from_start));
    run = std::move(*diverse);
    return Status::Ok();
  }
  const Window window = run.window();
  const KeptHits kept{{from_start ? 0 : window.begin, window.end}, from_start};
  const uint64_t depth = DepthOf(request, run.snapshot(), window.end);
  const Deadline deadline = DeadlineOf(run.snapshot(), request);
  ListResult semantic(nullptr);
  if (vector) {
    semantic = Rank(run.list().snapshot, HalvesOf(request, *run.snapshot().settings).semantic,
                    {{0, depth}, true}, deadline);
    GANNET_RETURN_IF_ERROR(semantic.status());
  }
  const bool enough = EnoughWords(request, run.list());
  HybridResult merged =
      MergeHalves(request, kept.positions, run.list(), semantic->get(), depth, enough);
  if (merged.cut) {
    GANNET_ASSIGN_OR_RETURN(auto deeper, RankHalves(run.list().snapshot, std::move(request), kept,
                                                    window, deadline, 8 * depth));
    run.Replace(std::move(*deeper));
  } else {
    run.Complete(vector, std::move(*semantic), std::move(merged));
  }
  if (run.counted() != nullptr && run.counted()->needs_vector())
    return AddVector(*run.counted(), std::move(vector), true, cancelled);
  return Status::Ok();
}

PendingSearch::PendingSearch(std::unique_ptr<SearchRun> run, std::vector<PinnedDocument> pins,
                             std::string_view request_json, Finish finish, const Caller& caller)
    : run_(std::move(run)),
      pins_(std::move(pins)),
      request_json_(request_json),
      finish_(finish),
      taken_us_(MonotonicMicroseconds() - caller.started_us) {}

Result<SearchResponse> PendingSearch::Resume(std::optional<std::vector<float>> vector,
                                             const Caller& caller) {
  const Caller whole(caller.started_us - taken_us_, caller.cancelled);
  GANNET_RETURN_IF_ERROR(AddVector(*run_, std::move(vector), !pins_.empty(), caller.cancelled));
  InStage stage("write");
  return finish_(*run_, pins_, json::Value::Parse(request_json_), whole);
}

Result<SearchResponse> ExecuteSearch(index::Index& index, std::string_view request_json,
                                     const Caller& caller) {
  InStage stage("parse");
  const json::Value object = json::Value::Parse(request_json);
  GANNET_ASSIGN_OR_RETURN(SearchRequest request, SearchRequest::FromJson(object));
  if (!request.group) {
    GANNET_ASSIGN_OR_RETURN(request.page, PageMembers::FromJson(object));
  }
  request.needs_candidates =
      request.has_facets() && (!request.group || request.group->facets_per_group);
  const auto finish = request.group ? RespondWithGroups : RespondWithPage;
  request.cancelled = caller.cancelled;
  GANNET_ASSIGN_OR_RETURN(std::vector<PinnedDocument> pins, FindPins(index, request.pins));
  std::shared_ptr<const index::Snapshot> snapshot = index.present();
  GANNET_RETURN_IF_ERROR(KeepPins(*snapshot, request, pins));
  ApplyCutoff(*snapshot, request);
  stage.End();
  GANNET_ASSIGN_OR_RETURN(auto run,
                          RunSearch(std::move(snapshot), std::move(request), !pins.empty()));
  return RespondOrWait(std::move(run), std::move(pins), request_json, object, finish, caller);
}

Result<SearchResponse> ExecuteFacetSearch(index::Index& index, std::string_view request_json,
                                          const Caller& caller) {
  InStage stage("parse");
  const json::Value object = json::Value::Parse(request_json);
  GANNET_ASSIGN_OR_RETURN(SearchRequest request, SearchRequest::FromJson(object));
  request.cancelled = caller.cancelled;
  std::shared_ptr<const index::Snapshot> snapshot = index.present();
  ApplyCutoff(*snapshot, request);
  WantCandidatesOnly(request, object["exhaustiveFacetCount"].boolean());
  stage.End();
  GANNET_ASSIGN_OR_RETURN(auto run, RunSearch(std::move(snapshot), std::move(request)));
  return RespondOrWait(std::move(run), {}, request_json, object, RespondWithFacets, caller);
}

}  // namespace gannet::search
