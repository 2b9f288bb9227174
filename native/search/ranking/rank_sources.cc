// What tells the costs of the documents of a bucket, for a rule that adds up costs along a path.
//
// What serves any document is to read it, and to walk every path over the positions where its words stand (rank_positions.cc).
// Most are spared that. Documents of one path, which hold the same synonyms of several words and split words, mostly none, are
// scanned in one pass over their records where they are few (forward_scan.h); where they are many posting lists tell their costs
// (posting_sources.h), and always for exactness (rank_exactness.cc). So they do for many that match several paths.
#include <utility>

#include "search/matching/large_bucket.h"
#include "search/ranking/posting_sources.h"
#include "search/ranking/rank.h"

namespace gannet::search {

Ranker::Sources Ranker::SourcesOf(Bucket bucket, RuleKind kind, uint32_t max) {
  Sources sources;
  DocSet any;  // documents of a path, where there are several
  const auto add_apart = [&](OnePath& one) {
    for (OnePath& group : GroupByPhrases(one, kind, any)) AddSources(std::move(group), kind, max, sources);
  };
  if (bucket.paths.size() == 1) {
    OnePath one{std::exchange(bucket.documents, DocSet()), 0, bucket.paths[0], {}};
    add_apart(one);
    bucket.documents = std::move(one.documents);
  } else if (bucket.documents.size() >= LargeBucketMin()) {
    std::vector<OnePath> ones;
    DocSet several;  // documents of more than one
    for (uint32_t p = 0; p < bucket.paths.size(); ++p) {
      DocSet documents = Matching(bucket.paths[p], bucket.documents);
      several |= any & documents;
      any |= documents;
      ones.push_back({std::move(documents), p, bucket.paths[p], {}});
    }
    std::vector<OnePath> shared;
    for (OnePath& one : ones) {
      if (!several.empty()) shared.push_back({one.documents & several, one.number, one.path, {}});
      one.documents -= several;
      bucket.documents -= one.documents;
      add_apart(one);
      bucket.documents |= one.documents;
    }
    if (auto cheapest = CheapestOf(std::move(shared), any, several, kind, max)) {
      bucket.documents -= several;
      sources.push_back(std::move(cheapest));
    }
  }
  if (!bucket.documents.empty()) AddByPositions(bucket, kind, max, sources);
  return sources;
}

void Ranker::AddSources(OnePath group, RuleKind kind, uint32_t max, Sources& sources) {
  const auto add_known = [&](std::map<uint32_t, CostBucket> buckets) { sources.push_back(std::make_unique<KnownCosts>(std::move(buckets))); };
  if (group.documents.empty()) return;
  const bool many = group.documents.size() >= LargeBucketMin();
  if (kind == RuleKind::kExactWords) {
    for (auto& [cost, choice] : ChoicesOfVerbatim(group)) add_known({{cost, std::move(choice)}});
  } else if (const auto cost = ConstantCost(kind, group.path)) {
    const DocId first = group.documents.min();
    add_known({{*cost, {std::move(group.documents), {}, {{group.number, first, std::move(group.path)}}}}});
  } else if (!many) {
    add_known(BucketsByScan(group, kind, max));
  } else if (kind == RuleKind::kProximity) {
    sources.push_back(std::make_unique<ProximitySource>(*graph_, std::move(group), max));
  } else if (kind == RuleKind::kAttributeRank) {
    sources.push_back(std::make_unique<AttributeSource>(*graph_, std::move(group), max_weight_));
  } else {
    sources.push_back(std::make_unique<PositionSource>(*graph_, std::move(group), max_weight_, max, two_phase_));
  }
}

std::unique_ptr<CostSource> Ranker::CheapestOf(std::vector<OnePath> shared, const DocSet& any, DocSet& documents, RuleKind kind, uint32_t max) {
  if (documents.size() < LargeBucketMin()) return nullptr;
  std::vector<OnePath> groups;
  for (OnePath& one : shared) {
    for (OnePath& group : GroupByPhrases(one, kind, any)) groups.push_back(std::move(group));
    documents -= one.documents;
  }
  // Lists are asked for each part.
  if (documents.empty() || documents.size() < LargeBucketMin() * groups.size() / 4) return nullptr;
  Sources sources;
  for (OnePath& group : groups) {
    group.documents &= documents;
    AddSources(std::move(group), kind, max, sources);
  }
  return std::make_unique<CheapestPathSource>(documents, std::move(sources));
}

std::vector<OnePath> Ranker::GroupByPhrases(OnePath& one, RuleKind kind, const DocSet& among) {
  constexpr size_t kGroupsMax = 64;
  std::vector<OnePath> groups;
  const auto take_all = [&] { groups.push_back({std::exchange(one.documents, DocSet()), one.number, one.path, {}}); };
  if (one.documents.empty()) return groups;
  if (kind == RuleKind::kExactWords) {  // words that stand as typed are the same whatever else does
    take_all();
    return groups;
  }
  if (!ForwardScan::Supports(*graph_, one.path)) return groups;
  const bool many = one.documents.size() >= LargeBucketMin();
  bool phrases = false;
  for (const Step& step : one.path) graph_->ForEachPhrase(step, [&](const Phrase&) { phrases = true; });
  if (phrases && !many) return groups;
  const DocSet own = phrases && among.empty() ? one.documents : DocSet();
  take_all();
  for (size_t i = 0; i < one.path.size(); ++i) {
    graph_->ForEachPhrase(one.path[i], [&](const Phrase& phrase) {
      const DocSet& in_phrase = graph_->InPhrase(phrase, among.empty() ? own : among);
      for (size_t p = 0, count = groups.size(); p < count && !in_phrase.empty(); ++p) {
        DocSet holding = groups[p].documents & in_phrase;
        if (holding.empty()) continue;
        groups[p].documents -= holding;
        if (holding.size() < LargeBucketMin() || groups.size() == kGroupsMax) {
          one.documents |= holding;
          continue;
        }
        PathPhrases held = groups[p].held;
        held.resize(one.path.size());
        held[i].push_back(&phrase);
        groups.push_back({std::move(holding), one.number, one.path, std::move(held)});
      }
    });
  }
  std::erase_if(groups, [](const OnePath& group) { return group.documents.empty(); });
  return groups;
}

DocSet Ranker::Matching(const Path& path, DocSet documents) {
  for (auto step = path.begin(); step != path.end() && !documents.empty(); ++step) documents = graph_->DocumentsWithin(*step, documents);
  return documents;
}

std::map<uint32_t, CostBucket> Ranker::BucketsByScan(const OnePath& bucket, RuleKind kind, uint32_t max) {
  if (!scan_ || scan_->path() != bucket.path || !bucket.documents.IsSubsetOf(scanned_)) {
    scan_.emplace(*graph_, bucket.path, bucket.held, max_weight_);
    scan_->Run(bucket.documents);
    scanned_ = bucket.documents;
  }
  const auto cost_of_rule = kind == RuleKind::kProximity       ? &PathCosts::proximity
                            : kind == RuleKind::kAttributeRank ? &PathCosts::attribute
                                                               : &PathCosts::position;
  const auto by_cost = scan_->ByCost(cost_of_rule, max, bucket.documents);
  std::map<uint32_t, CostBucket> buckets;
  for (uint32_t cost = 0; cost <= max; ++cost) {
    if (!by_cost[cost].empty()) buckets[cost] = {DocSet::FromSorted(by_cost[cost]), {}, {{bucket.number, by_cost[cost].front(), bucket.path}}};
  }
  return buckets;
}

}  // namespace gannet::search
