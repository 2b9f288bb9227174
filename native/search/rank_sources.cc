// What tells the costs of the documents of a bucket, for a rule that adds up costs along a path.
//
// What serves any document is to read it, and to walk every path over the places where its words stand (rank_places.cc).
// Most are spared that. Documents of one path, which hold the same synonyms of several words and split words, mostly none, are
// swept in one pass over their records where they are few (sweep.h); where they are many posting lists tell their costs
// (list_parts.h), and always for exactness (rank_exactness.cc). So they do for many that match several paths.
#include <utility>

#include "search/large_bucket.h"
#include "search/list_parts.h"
#include "search/rank.h"

namespace gannet::search {

Ranker::Sources Ranker::SourcesOf(Bucket bucket, RuleKind kind, uint32_t max) {
  Sources sources;
  DocSet any;  // documents of a path, where there are several
  const auto add_apart = [&](OnePath& one) {
    for (OnePath& part : TakeApart(one, kind, any)) AddSources(std::move(part), kind, max, sources);
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
  if (!bucket.documents.empty()) AddByPlaces(bucket, kind, max, sources);
  return sources;
}

void Ranker::AddSources(OnePath part, RuleKind kind, uint32_t max, Sources& sources) {
  const auto add_known = [&](std::map<uint32_t, CostPart> parts) { sources.push_back(std::make_unique<KnownParts>(std::move(parts))); };
  if (part.documents.empty()) return;
  const bool many = part.documents.size() >= LargeBucketMin();
  if (kind == RuleKind::kExactWords) {
    for (auto& [cost, choice] : ChoicesOfVerbatim(part)) add_known({{cost, std::move(choice)}});
  } else if (const auto cost = ConstantCost(kind, part.path)) {
    const DocId first = part.documents.min();
    add_known({{*cost, {std::move(part.documents), {}, {{part.number, first, std::move(part.path)}}}}});
  } else if (!many) {
    add_known(PartsBySweep(part, kind, max));
  } else if (kind == RuleKind::kProximity) {
    sources.push_back(std::make_unique<NearnessParts>(*graph_, std::move(part), max));
  } else if (kind == RuleKind::kAttributeRank) {
    sources.push_back(std::make_unique<AttributeParts>(*graph_, std::move(part), max_weight_));
  } else {
    sources.push_back(std::make_unique<PositionParts>(*graph_, std::move(part), max_weight_, max, unread_));
  }
}

std::unique_ptr<CostParts> Ranker::CheapestOf(std::vector<OnePath> shared, const DocSet& any, DocSet& documents, RuleKind kind, uint32_t max) {
  if (documents.size() < LargeBucketMin()) return nullptr;
  std::vector<OnePath> parts;
  for (OnePath& one : shared) {
    for (OnePath& part : TakeApart(one, kind, any)) parts.push_back(std::move(part));
    documents -= one.documents;
  }
  // Lists are asked for each part.
  if (documents.empty() || documents.size() < LargeBucketMin() * parts.size() / 4) return nullptr;
  Sources sources;
  for (OnePath& part : parts) {
    part.documents &= documents;
    AddSources(std::move(part), kind, max, sources);
  }
  return std::make_unique<CheapestParts>(documents, std::move(sources));
}

std::vector<OnePath> Ranker::TakeApart(OnePath& one, RuleKind kind, const DocSet& among) {
  constexpr size_t kGroupsMax = 64;
  std::vector<OnePath> parts;
  const auto take_all = [&] { parts.push_back({std::exchange(one.documents, DocSet()), one.number, one.path, {}}); };
  if (one.documents.empty()) return parts;
  if (kind == RuleKind::kExactWords) {  // words that stand as typed are the same whatever else does
    take_all();
    return parts;
  }
  if (!PathSweep::Supports(*graph_, one.path)) return parts;
  const bool many = one.documents.size() >= LargeBucketMin();
  bool phrases = false;
  for (const Step& step : one.path) graph_->ForEachPhrase(step, [&](const Phrase&) { phrases = true; });
  if (phrases && !many) return parts;
  const DocSet own = phrases && among.empty() ? one.documents : DocSet();
  take_all();
  for (size_t i = 0; i < one.path.size(); ++i) {
    graph_->ForEachPhrase(one.path[i], [&](const Phrase& phrase) {
      const DocSet& in_phrase = graph_->InPhrase(phrase, among.empty() ? own : among);
      for (size_t p = 0, count = parts.size(); p < count && !in_phrase.empty(); ++p) {
        DocSet holding = parts[p].documents & in_phrase;
        if (holding.empty()) continue;
        parts[p].documents -= holding;
        if (holding.size() < LargeBucketMin() || parts.size() == kGroupsMax) {
          one.documents |= holding;
          continue;
        }
        PathPhrases held = parts[p].held;
        held.resize(one.path.size());
        held[i].push_back(&phrase);
        parts.push_back({std::move(holding), one.number, one.path, std::move(held)});
      }
    });
  }
  std::erase_if(parts, [](const OnePath& part) { return part.documents.empty(); });
  return parts;
}

DocSet Ranker::Matching(const Path& path, DocSet documents) {
  for (auto step = path.begin(); step != path.end() && !documents.empty(); ++step) documents = graph_->DocumentsWithin(*step, documents);
  return documents;
}

std::map<uint32_t, CostPart> Ranker::PartsBySweep(const OnePath& bucket, RuleKind kind, uint32_t max) {
  if (!sweep_ || sweep_->path() != bucket.path || !bucket.documents.IsSubsetOf(swept_)) {
    sweep_.emplace(*graph_, bucket.path, bucket.held, max_weight_);
    sweep_->Run(bucket.documents);
    swept_ = bucket.documents;
  }
  const auto cost_of_rule = kind == RuleKind::kProximity       ? &PathCosts::proximity
                            : kind == RuleKind::kAttributeRank ? &PathCosts::attribute
                                                               : &PathCosts::position;
  const auto by_cost = sweep_->ByCost(cost_of_rule, max, bucket.documents);
  std::map<uint32_t, CostPart> parts;
  for (uint32_t cost = 0; cost <= max; ++cost) {
    if (!by_cost[cost].empty()) parts[cost] = {DocSet::FromSorted(by_cost[cost]), {}, {{bucket.number, by_cost[cost].front(), bucket.path}}};
  }
  return parts;
}

}  // namespace gannet::search
