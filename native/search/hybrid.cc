#include "search/hybrid.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/stop_point.h"
#include "search/ranking/score_details.h"
#include "search/ranking/score_key.h"
#include "search/vectors/semantic_cutoff.h"

namespace gannet::search {
namespace {

// How many documents of the merged list are looked at for totals and facets. Which documents
// distinct keeps depends on all that precede them, so exact totals need the whole list.
uint64_t CountedOf(const SearchRequest& request, const RankedList& words) {
  if (words.distinct == nullptr || !CountsBothHalves(request)) return 0;
  return request.needs_candidates ? UINT64_MAX : words.snapshot->settings->max_total_hits;
}

// fused: storage for the details of hits
MergedHits Merge(const SearchRequest& request, const RankedList& words, const RankedList& semantic,
                 MergeEnd end, std::deque<FusedDetail>& fused) {
  const double ratio = request.hybrid->ratio;
  const Distinct* distinct = words.distinct.get();
  if (request.FusionOf(*words.snapshot->settings) == Fusion::kScore)
    return MergeHits(words.hits(), semantic.hits(), ratio, end, distinct);
  FusedHits merged = FuseByRank(words.hits(), semantic.hits(), ratio, end, distinct);
  fused = std::move(merged.details);
  return merged;
}

// The documents of both lists that count.
DocSet CandidatesOf(const RankedList& words, const RankedList& semantic, bool whole,
                    MergedHits& merged) {
  if (whole) {
    std::sort(merged.kept.begin(), merged.kept.end());
    return DocSet::FromSorted(merged.kept);
  }
  DocSet candidates = words.candidates | semantic.candidates;
  if (!merged.excluded.empty()) candidates -= merged.excluded;
  return candidates;
}

}  // namespace

void CutTo(Window window, std::vector<Hit>& hits) {
  const uint64_t end = std::min<uint64_t>(hits.size(), window.end);
  hits.resize(end);
  hits.erase(hits.begin(), hits.begin() + static_cast<ptrdiff_t>(std::min(window.begin, end)));
}

Result<const index::EmbedderSettings*> EmbedderOf(const index::Settings& settings,
                                                  const std::string& name,
                                                  const std::string& error_code) {
  const index::EmbedderSettings* embedder = settings.Embedder(name);
  if (embedder == nullptr)
    return Status::Invalid("The index has no embedder `" + name + "`.", error_code);
  return embedder;
}

Result<std::unique_ptr<VectorScan>> ScanOf(const index::Snapshot& snapshot,
                                           const SearchRequest& request, const Deadline& deadline) {
  const std::string& name = request.hybrid->embedder;
  GANNET_ASSIGN_OR_RETURN(const index::EmbedderSettings* embedder,
                          EmbedderOf(*snapshot.settings, name, "invalid_search_embedder"));
  if (!request.vector) return std::unique_ptr<VectorScan>();
  const uint32_t dimensions = snapshot.DimensionsOf(*embedder);
  if (dimensions != 0 && request.vector->size() != dimensions) {
    return Status::Invalid("The vector has " + std::to_string(request.vector->size()) +
                               " dimensions, but the embedder `" + name + "` expects " +
                               std::to_string(dimensions) + ".",
                           "invalid_vector_dimensions");
  }
  return std::make_unique<VectorScan>(snapshot, *embedder,
                                      std::vector<std::vector<float>>{*request.vector},
                                      ScanOptions{.deadline = deadline});
}

void ApplyCutoff(const index::Snapshot& snapshot, SearchRequest& request) {
  if (!request.hybrid || request.hybrid->min_score) return;
  const index::EmbedderSettings* embedder = snapshot.settings->Embedder(request.hybrid->embedder);
  if (embedder != nullptr) request.hybrid->min_score = SemanticCutoff(snapshot, *embedder);
}

bool CountsBothHalves(const SearchRequest& request) {
  return request.page.numbered || request.hybrid->min_score;
}

HybridHalves HalvesOf(const SearchRequest& request, const index::Settings& settings) {
  SearchRequest half = request;
  half.half = true;
  half.exhaustive = CountsBothHalves(request);
  half.page = {};
  SearchRequest words = half;
  words.hybrid.reset();
  words.vector.reset();
  // Without these candidates, all hits found by vectors are those found by words.
  words.needs_candidates = request.needs_candidates || request.threshold ||
                           request.hybrid->min_score || request.distinct || settings.distinct;
  SearchRequest semantic = std::move(half);
  semantic.hybrid->ratio = 1;
  semantic.facets.clear();
  semantic.needs_candidates = true;
  return {std::move(words), std::move(semantic)};
}

bool WordsAreEnough(const std::vector<Hit>& words, double ratio, uint64_t wanted) {
  constexpr double kEnough = 0.45;
  if (words.size() < wanted) return false;
  // The hits of a bucket share their details.
  const Detail* last = nullptr;
  for (size_t i = 0; i < wanted; ++i) {
    if (i > 0 && words[i].detail == last) continue;
    last = words[i].detail;
    if (ScoreOf(last) * (1 - ratio) < kEnough) return false;
  }
  return true;
}

MergedHits MergeHits(const std::vector<Hit>& words, const std::vector<Hit>& semantic, double ratio,
                     MergeEnd end, const Distinct* distinct) {
  MergedHits merged;
  std::unordered_set<DocId> seen;
  size_t w = 0, s = 0;
  std::optional<ScoreKey> word_key, semantic_key;  // key of the next hit of each list
  StopCounter steps;
  while (merged.kept.size() < end.counted) {
    merged.cut = end.Cuts(words, w) || end.Cuts(semantic, s);
    if (merged.cut || (w == words.size() && s == semantic.size())) break;
    steps.Step(32);
    if (w < words.size() && !word_key) word_key = ScoreKey::Of(words[w].detail, 1 - ratio);
    if (s < semantic.size() && !semantic_key)
      semantic_key = ScoreKey::Of(semantic[s].detail, ratio);
    const bool by_vector =
        w == words.size() ||
        (s < semantic.size() && CompareHybridScores(*semantic_key, *word_key) <= 0);
    const Hit& hit = by_vector ? semantic[s++] : words[w++];
    (by_vector ? semantic_key : word_key).reset();
    if (!seen.insert(hit.docid).second || !merged.Keep(hit.docid, end, distinct)) continue;
    merged.hits.push_back(hit);
    merged.by_vector.push_back(by_vector);
  }
  return merged;
}

uint64_t DepthOf(const SearchRequest& request, const index::Snapshot& snapshot, uint64_t end) {
  if (CountsBothHalves(request)) {
    const auto distinct = DistinctOf(snapshot, request.distinct);
    if (distinct.ok() && *distinct != nullptr) return snapshot.documents.size();
  }
  end = std::max(end, request.FirstPage(snapshot.settings->max_total_hits));
  return request.FusionOf(*snapshot.settings) == Fusion::kRrf ? FusedDepth(end) : end;
}

HybridResult MergeHalves(const SearchRequest& request, Window window, const RankedList& words,
                         const RankedList* semantic, uint64_t depth, bool enough) {
  HybridResult result;
  if (semantic == nullptr || enough) {
    const index::EmbedderSettings* embedder =
        words.snapshot->settings->Embedder(request.hybrid->embedder);
    result.lacks_vector = !enough && embedder != nullptr && embedder->computes;
    result.hits = words.hits();
    result.candidates = words.candidates;
    result.total = words.total;
  } else {
    const uint64_t counted = CountedOf(request, words);
    const bool whole = depth >= words.snapshot->documents.size();
    MergedHits merged = Merge(request, words, *semantic,
                              {window.end, counted, whole ? UINT64_MAX : depth}, result.fused);
    result.cut = merged.cut;
    result.uses_vector = true;
    const auto shown = static_cast<ptrdiff_t>(std::min(window.begin, merged.by_vector.size()));
    result.semantic_hit_count = static_cast<uint64_t>(
        std::count(merged.by_vector.begin() + shown, merged.by_vector.end(), true));
    result.candidates = CandidatesOf(words, *semantic, counted > 0, merged);
    result.total =
        std::min<uint64_t>(result.candidates.size(), words.snapshot->settings->max_total_hits);
    result.hits = std::move(merged.hits);
  }
  CutTo(window, result.hits);
  return result;
}

}  // namespace gannet::search
