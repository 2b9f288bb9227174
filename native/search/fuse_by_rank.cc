#include "search/fuse_by_rank.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/json.h"
#include "base/stop_point.h"
#include "search/ranking/score_details.h"
#include "search/ranking/score_key.h"

namespace gannet::search {
namespace {

class RankFusion : public RankingRule {
 public:
  explicit RankFusion(bool by_vectors) : RankingRule("rrf"), by_vectors_(by_vectors) {}

  void Split(Bucket, BucketSplit&) override {}
  bool scores() const override { return true; }
  bool by_vectors() const override { return by_vectors_; }

  void AppendScoreDetails(DetailWriter& out, const Detail& detail, const Detail*) const override {
    const auto& fused = static_cast<const FusedDetail&>(detail);
    out.Begin(id());
    if (fused.words_rank > 0) out.Json("wordsRank", std::to_string(fused.words_rank));
    if (fused.semantic_rank > 0) out.Json("semanticRank", std::to_string(fused.semantic_rank));
    out.Score("score", static_cast<double>(fused.similarity));
    AppendHalf(out, fused.words, fused.previous, false);
    AppendHalf(out, fused.semantic, fused.previous, fused.words != nullptr);
  }

  std::optional<ScorePart> PartOf(const Detail& detail, double weight) const override {
    return ScorePart{this, static_cast<double>(detail.similarity) * weight};
  }
  // Servers that do not know this rule read it as one that they know.
  void AppendPart(const ScorePart& part, std::string& out) const override {
    out += by_vectors_ ? "{\"vectorSort\":" : "{\"weightedScore\":";
    AppendJsonFloat(out, part.number);
    out += '}';
  }

 private:
  // Appends what the rules of one half said.
  // before       shown already: the sort rules that precede fusion
  // vector_only  the other rules were shown for the other half
  static void AppendHalf(DetailWriter& out, const Detail* last, const Detail* before,
                         bool vector_only) {
    const std::vector<const Detail*> chain = ChainOf(last);
    for (size_t i = ChainOf(before).size(); i < chain.size(); ++i) {
      if (vector_only && !chain[i]->rule->by_vectors()) continue;
      chain[i]->rule->AppendScoreDetails(out, *chain[i],
                                         i + 1 < chain.size() ? chain[i + 1] : nullptr);
    }
  }

  const bool by_vectors_;
};

const RankingRule& FusionRule(bool by_vectors) {
  static const RankFusion words(false), vectors(true);
  return by_vectors ? vectors : words;
}

// The last of the sort rules that precede relevancy; null: there is none.
const Detail* LeadingSort(const Detail* detail) {
  const Detail* last = nullptr;
  for (const Detail* entry : ChainOf(detail)) {
    const auto part = entry->rule->PartOf(*entry, 1);
    if (!part || part->value == nullptr) break;
    last = entry;
  }
  return last;
}

// A document of either list.
struct Fused {
  DocId docid = 0;
  uint64_t words_rank = 0, semantic_rank = 0;  // 0: not in the list
  const Detail *words = nullptr, *semantic = nullptr;
  bool embedded = false;
  double words_share = 0, semantic_share = 0;
  double score = 0;
  std::optional<ScoreKey> sort = std::nullopt;  // only with sort rules that precede relevancy

  bool by_vector() const { return semantic_rank > 0 && semantic_share >= words_share; }
};

// The scale that gives the first hit of both lists 1.
double ShareOf(uint64_t rank, double weight) {
  return weight * (kRankConstant + 1) / (kRankConstant + static_cast<double>(rank));
}

void Score(double ratio, Fused& fused) {
  const auto core = [](uint64_t rank, double share) { return rank <= kFusedHits ? share : 0; };
  if (fused.words_rank > 0) fused.words_share = ShareOf(fused.words_rank, 1 - ratio);
  if (fused.embedded) fused.semantic_share = ShareOf(fused.semantic_rank, ratio);
  fused.score = std::max(
      {core(fused.words_rank, fused.words_share) + core(fused.semantic_rank, fused.semantic_share),
       fused.words_share, fused.semantic_share});
  fused.score = std::min(fused.score, 1.0);
}

bool Before(const Fused& a, const Fused& b) {
  if (a.sort && b.sort) {
    const int order = CompareScores(*a.sort, *b.sort);
    if (order != 0) return order < 0;
  }
  if (a.score != b.score) return a.score > b.score;
  if (a.by_vector() != b.by_vector()) return a.by_vector();
  const auto rank = [](const Fused& one) {
    return one.by_vector() ? one.semantic_rank : one.words_rank;
  };
  return rank(a) != rank(b) ? rank(a) < rank(b) : a.docid < b.docid;
}

// The documents of both lists, in fused order.
std::vector<Fused> Ordered(const std::vector<Hit>& words, const std::vector<Hit>& semantic,
                           double ratio) {
  std::vector<Fused> fused;
  fused.reserve(words.size() + semantic.size());
  std::unordered_map<DocId, size_t> entries;
  StopCounter steps;
  for (size_t i = 0; i < words.size(); ++i) {
    steps.Step(32);
    entries.emplace(words[i].docid, fused.size());
    fused.push_back({.docid = words[i].docid, .words_rank = i + 1, .words = words[i].detail});
  }
  for (size_t i = 0; i < semantic.size(); ++i) {
    steps.Step(32);
    const auto [entry, added] = entries.emplace(semantic[i].docid, fused.size());
    if (added) fused.push_back({.docid = semantic[i].docid});
    Fused& one = fused[entry->second];
    one.semantic_rank = i + 1;
    one.semantic = semantic[i].detail;
    one.embedded = ScoreOf(one.semantic) > 0;
  }
  for (Fused& one : fused) {
    steps.Step(32);
    Score(ratio, one);
    const Detail* sort = LeadingSort(one.words != nullptr ? one.words : one.semantic);
    if (sort != nullptr) one.sort = ScoreKey::Of(sort, 1);
  }
  std::sort(fused.begin(), fused.end(), Before);
  return fused;
}

}  // namespace

bool IsFused(const Hit& hit) {
  const RankingRule* rule = hit.detail == nullptr ? nullptr : hit.detail->rule;
  return rule == &FusionRule(false) || rule == &FusionRule(true);
}

uint64_t FusedDepth(uint64_t end) { return end == 0 ? 0 : std::max(end, kFusedHits); }

FusedHits FuseByRank(const std::vector<Hit>& words, const std::vector<Hit>& semantic, double ratio,
                     MergeEnd end, const Distinct* distinct) {
  FusedHits merged;
  StopCounter steps;
  const std::vector<Fused> ordered = Ordered(words, semantic, ratio);
  for (size_t i = 0; merged.kept.size() < end.counted; ++i) {
    merged.cut = end.Cuts(words, i) || end.Cuts(semantic, i);
    if (merged.cut || i == ordered.size()) break;
    steps.Step(32);
    const Fused& one = ordered[i];
    if (!merged.Keep(one.docid, end, distinct)) continue;
    FusedDetail detail;
    detail.rule = &FusionRule(one.by_vector());
    detail.similarity = static_cast<float>(one.score);
    detail.words_rank = one.words_rank;
    detail.semantic_rank = one.embedded ? one.semantic_rank : 0;
    detail.words = one.words;
    detail.semantic = one.semantic;
    detail.previous = LeadingSort(one.words != nullptr ? one.words : one.semantic);
    merged.details.push_back(detail);
    merged.hits.push_back({one.docid, &merged.details.back()});
    merged.by_vector.push_back(one.by_vector());
  }
  return merged;
}

}  // namespace gannet::search
