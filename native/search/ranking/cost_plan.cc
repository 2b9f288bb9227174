#include "search/ranking/cost_plan.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "search/matching/large_bucket.h"
#include "search/ranking/path_postings.h"

namespace gannet::search {

Sources CostPlan::SourcesOf(Bucket bucket, size_t rule, uint32_t max) {
  const CostRule& cost_rule = *rules_[rule]->cost();
  Sources sources;
  DocSet any;  // the documents of all paths, if there are several
  const auto add_apart = [&](OnePath& one) {
    for (OnePath& group : GroupByPhrases(one, cost_rule, any))
      AddSources(std::move(group), cost_rule, max, bucket.two_phase, sources);
  };
  if (bucket.paths.size() == 1) {
    OnePath one{std::exchange(bucket.documents, DocSet()), 0, bucket.paths[0], {}};
    add_apart(one);
    bucket.documents = std::move(one.documents);
  } else if (bucket.documents.size() >= LargeBucketMin()) {
    std::vector<OnePath> ones;
    DocSet several;  // documents of more than one path
    for (uint32_t p = 0; p < bucket.paths.size(); ++p) {
      DocSet documents =
          DocumentsAlong(context_.query.documents, bucket.paths[p], bucket.documents);
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
    if (auto cheapest =
            CheapestOf(std::move(shared), any, several, cost_rule, max, bucket.two_phase)) {
      bucket.documents -= several;
      sources.push_back(std::move(cheapest));
    }
  }
  if (!bucket.documents.empty()) AddScan(bucket, rule, max, sources);
  return sources;
}

void CostPlan::AddSources(OnePath group, const CostRule& rule, uint32_t max, TwoPhase* two_phase,
                          Sources& sources) {
  if (group.documents.empty()) return;
  if (const auto cost = rule.ConstantCost(context_, group.path)) {
    const DocId first = group.documents.min();
    std::map<uint32_t, CostBucket> buckets;
    buckets[*cost] = {
        std::move(group.documents), {}, {{group.number, first, std::move(group.path)}}};
    sources.push_back(std::make_unique<KnownCosts>(std::move(buckets)));
  } else {
    rule.AddPostingSources(context_, std::move(group), max, two_phase, sources);
  }
}

void CostPlan::AddScan(const Bucket& bucket, size_t rule, uint32_t max, Sources& sources) {
  const CostRule& cost_rule = *rules_[rule]->cost();
  std::vector<uint32_t> numbers(bucket.paths.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  const auto add = [&](const DocSet& documents) {
    scan_->AddSources(cost_rule, bucket.paths, numbers, max, documents, sources);
  };
  if (!scan_ || !scan_->Tells(cost_rule, bucket.paths, bucket.documents)) {
    std::vector<const CostRule*> rules;  // this rule and later ones
    for (size_t r = rule; r < rules_.size(); ++r) {
      if (const CostRule* cost = rules_[r]->cost()) rules.push_back(cost);
    }
    scan_.emplace(context_, std::move(rules), bucket.paths, bucket.paths.size() == 1);
    const size_t at_once = scan_->DocumentsAtOnce();
    if (bucket.documents.size() > at_once) {
      std::vector<DocId> docids;
      bucket.documents.ToVector(docids);
      for (size_t begin = 0; begin < docids.size(); begin += at_once) {
        const DocSet documents = DocSet::FromSorted(
            std::span(docids).subspan(begin, std::min(at_once, docids.size() - begin)));
        scan_->Run(documents);
        add(documents);
      }
      return scan_.reset();
    }
    scan_->Run(bucket.documents);
  }
  add(bucket.documents);
}

std::unique_ptr<CostSource> CostPlan::CheapestOf(std::vector<OnePath> shared, const DocSet& any,
                                                 DocSet& documents, const CostRule& rule,
                                                 uint32_t max, TwoPhase* two_phase) {
  if (documents.size() < LargeBucketMin()) return nullptr;
  std::vector<OnePath> groups;
  for (OnePath& one : shared) {
    for (OnePath& group : GroupByPhrases(one, rule, any)) groups.push_back(std::move(group));
    documents -= one.documents;
  }
  // Each group needs its own lists.
  if (documents.empty() || documents.size() < LargeBucketMin() * groups.size() / 4) return nullptr;
  Sources sources;
  for (OnePath& group : groups) {
    group.documents &= documents;
    AddSources(std::move(group), rule, max, two_phase, sources);
  }
  return std::make_unique<CheapestPathSource>(documents, std::move(sources));
}

std::vector<OnePath> CostPlan::GroupByPhrases(OnePath& one, const CostRule& rule,
                                              const DocSet& among) {
  constexpr size_t kGroupsMax = 64;
  std::vector<OnePath> groups;
  const auto take_all = [&] {
    groups.push_back({std::exchange(one.documents, DocSet()), one.number, one.path, {}});
  };
  // A constant cost takes neither lists nor reading.
  const bool looks_up =
      one.documents.size() >= rule.PostingsMin() && HasPostings(context_.query.expansion, one.path);
  if (one.documents.empty() || (!looks_up && !rule.ConstantCost(context_, one.path))) return groups;
  if (!looks_up || !rule.DependsOnPhrases()) {
    take_all();
    return groups;
  }
  bool phrases = false;
  for (const Step& step : one.path)
    context_.query.expansion.ForEachPhrase(step, [&](const Phrase&) { phrases = true; });
  const DocSet own = phrases && among.empty() ? one.documents : DocSet();
  take_all();
  for (size_t i = 0; i < one.path.size(); ++i) {
    context_.query.expansion.ForEachPhrase(one.path[i], [&](const Phrase& phrase) {
      const DocSet& in_phrase =
          context_.query.phrases.MatchingWithin(phrase, among.empty() ? own : among);
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
  // Few documents may be left in the first group.
  if (groups[0].documents.size() < rule.PostingsMin())
    one.documents |= std::exchange(groups[0].documents, DocSet());
  std::erase_if(groups, [](const OnePath& group) { return group.documents.empty(); });
  return groups;
}

}  // namespace gannet::search
