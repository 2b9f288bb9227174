// The rule wordPosition: a step costs the distance between the nearest of its words and the
// position of the term in the query (docs/behaviour/ranking.md).
//
// Leading-position postings give the lowest costs; documents whose words are only at later
// positions are read when the lowest cost that they may have is requested.
#include "search/ranking/rules/word_position.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "search/matching/bucketed_position.h"
#include "search/matching/large_bucket.h"
#include "search/ranking/forward_scan.h"
#include "search/ranking/path_postings.h"
#include "search/ranking/rules.h"
#include "search/ranking/score_details.h"
#include "search/ranking/two_phase.h"

namespace gannet::search {
namespace {

constexpr uint32_t kCostMax = 10;  // for one word

uint32_t CostOfDistance(uint32_t delta) {
  static constexpr uint32_t kSteps[] = {0, 1, 4, 7, 11, 16, 24, 64, 256, 1024};
  uint32_t cost = 0;
  while (cost < kCostMax && delta > kSteps[cost]) ++cost;
  return cost;
}

// Covers the positions and query positions that are most frequent.
constexpr uint32_t kTable = 64;
const std::array<std::array<uint8_t, kTable>, kExactPositions> kPositionCosts = [] {
  std::array<std::array<uint8_t, kTable>, kExactPositions> table{};
  for (uint32_t query = 0; query < kExactPositions; ++query) {
    for (uint32_t position = 0; position < kTable; ++position) {
      const uint32_t bucketed = BucketedPosition(position);
      table[query][position] = static_cast<uint8_t>(
          CostOfDistance(bucketed > query ? bucketed - query : query - bucketed));
    }
  }
  return table;
}();

// The cost of the nearest word of a run. first: the first word of the role in the run.
uint32_t CostMin(const WordMasks& masks, Role role, const WordMasks::Run& run, uint32_t first,
                 uint32_t wanted, uint32_t slots) {
  const auto cost_of = [&](uint32_t word) {
    return PositionCostOf(run.position + (word - run.begin), wanted, slots);
  };
  uint32_t min = cost_of(first);
  if (min == 0 || run.position + (first - run.begin) >= wanted) return min;
  if (wanted >= kExactPositions) {
    // Positions before the query position may cost as much as those after it.
    for (uint32_t word = first; word != WordMasks::kNone;
         word = masks.First(role, word + 1, run.end))
      min = std::min(min, cost_of(word));
    return min;
  }
  const uint32_t pivot = std::min(run.begin + (wanted - run.position), run.end);
  min = std::min(min, cost_of(masks.Last(role, run.begin, pivot)));
  if (const uint32_t behind = masks.First(role, pivot, run.end); behind != WordMasks::kNone)
    min = std::min(min, cost_of(behind));
  return min;
}

uint32_t WantedBy(const Node& node) { return static_cast<uint32_t>(node.term.first); }

// The mask of the leading positions at which a word of the node costs `cost`.
uint32_t PositionsAt(const Node& node, uint32_t cost) {
  uint32_t mask = 0;
  for (uint32_t position = 0; position < segment::kLeadingPositions; ++position) {
    if (PositionCostOf(position, WantedBy(node), node.slots()) == cost) mask |= 1u << position;
  }
  return mask;
}

// The lowest cost of the node if none of its words is at a leading position.
uint32_t UnknownCost(const Node& node) {
  return WantedBy(node) < segment::kLeadingPositions
             ? PositionCostOf(segment::kLeadingPositions, WantedBy(node), node.slots())
             : 0;
}

// Posting lists give all costs of the path below this one; 0: none.
uint32_t KnownBelow(const RankContext& context, const Path& path) {
  uint32_t known = ~uint32_t{0};
  for (const Step& step : path) known = std::min(known, UnknownCost(context.NodeOf(step)));
  return known;
}

class PositionSource : public CostSource {
 public:
  PositionSource(const CostRule& rule, const RankContext& context, OnePath bucket, uint32_t max,
                 TwoPhase* two_phase)
      : rule_(rule),
        context_(context),
        bucket_(std::move(bucket)),
        postings_(context.query, bucket_.path, bucket_.held),
        max_(max),
        two_phase_(two_phase),
        known_(KnownBelow(context, bucket_.path)) {}

  CostBucket At(uint32_t cost) override {
    // The lowest costs usually fill the page, so each is looked up separately.
    constexpr uint32_t kLookedUp = 3;
    if (cost < std::min(kLookedUp, known_)) {
      DocSet here = postings_.OfSum(
          cost, bucket_.documents, [&](size_t i, uint32_t own, const DocSet& documents) {
            return postings_.AtPositions(i, PositionsAt(context_.NodeOf(bucket_.path[i]), own),
                                         &documents);
          });
      bucket_.documents -= here;
      return BucketOf(bucket_, std::move(here));
    }
    if (!std::exchange(listed_all_, true)) {
      if (known_ <= kLookedUp) {
        Read(bucket_.documents);
      } else {
        LookUpAll();
      }
      bucket_.documents.Clear();
    }
    if (cost == known_ && !unknown_.empty())
      Read(two_phase_ != nullptr ? two_phase_->Verify(unknown_) : unknown_);
    return BucketOf(bucket_, TakeAt(behind_, cost));
  }

 private:
  // Gets all costs from posting lists, or reads the documents if that is faster.
  void LookUpAll() {
    // Unions of all leading positions of one step take as long as reading this many buckets.
    constexpr uint64_t kReadPerStep = 8;
    DocSet& rest = bucket_.documents;
    if (two_phase_ != nullptr && bucket_.path.size() > 1 &&
        rest.size() <= kReadPerStep * LargeBucketMin() * bucket_.path.size()) {
      rest = two_phase_->Verify(rest);
      if (rest.size() < LargeBucketMin()) return Read(rest);
    }
    behind_[0] = rest;
    for (size_t i = 0; i < bucket_.path.size(); ++i) {
      const Node& node = context_.NodeOf(bucket_.path[i]);
      std::map<uint32_t, DocSet> next;
      for (uint32_t own = 0; own < UnknownCost(node); ++own) {
        const DocSet standing = postings_.AtPositions(i, PositionsAt(node, own), &rest);
        if (standing.empty()) continue;
        for (auto& [cost, group] : behind_) {
          DocSet here = group & standing;
          if (here.empty()) continue;
          group -= here;
          next[cost + own] |= here;
        }
      }
      for (const auto& [cost, group] : behind_) unknown_ |= group;
      behind_ = std::move(next);
    }
  }

  void Read(const DocSet& documents) {
    if (documents.empty()) return;
    ForwardScan scan(context_, {&rule_}, {bucket_.path}, true);
    scan.Run(documents);
    const auto by_cost = scan.ByCost(rule_, max_, documents);
    for (uint32_t cost = 0; cost <= max_; ++cost) {
      if (!by_cost[cost].empty()) behind_[cost] |= DocSet::FromSorted(by_cost[cost]);
    }
  }

  const CostRule& rule_;
  const RankContext& context_;
  OnePath bucket_;  // has the documents not yet returned, until listed_all_
  PathPostings postings_;
  uint32_t max_;
  TwoPhase* two_phase_;
  uint32_t known_;  // posting lists give costs below this one
  bool listed_all_ = false;
  std::map<uint32_t, DocSet> behind_;  // documents not yet returned by cost, once listed_all_
  // Documents in which a word is at no leading position: they cost known_ or more.
  DocSet unknown_;
};

class WordPosition : public CostRule {
 public:
  // half    whether it is a half of the rule `attribute`; the other is attributeRank
  explicit WordPosition(bool half) : CostRule(kWordPositionRule.name), half_(half) {}

  uint32_t StepMax(const RankContext& context, const Path& path, size_t i) const override {
    return kCostMax * context.NodeOf(path[i]).slots();
  }

  uint32_t StepCost(const RankContext&, ScannedDocument& document, const ScannedStep*,
                    const ScannedStep& step) const override {
    const uint32_t slots = step.node->slots();
    uint32_t best = kCostMax * slots;
    for (const auto& [run, role, first] : document.OccurrencesOf(step)) {
      best =
          std::min(best, CostMin(document.masks(), role, *run, first, WantedBy(*step.node), slots));
      if (best == 0) break;
    }
    return best;
  }

  uint64_t PostingsMin() const override { return LargeBucketMin(); }
  void AddPostingSources(const RankContext& context, OnePath group, uint32_t max,
                         TwoPhase* two_phase, Sources& sources) const override {
    sources.push_back(
        std::make_unique<PositionSource>(*this, context, std::move(group), max, two_phase));
  }

  std::optional<DocSet> Cheapest(const RankContext& context, const Path& path,
                                 const DocSet* within) const override {
    if (KnownBelow(context, path) == 0) return std::nullopt;
    const PathPhrases none;
    PathPostings postings(context.query, path, none);
    DocSet near = postings.AtPositions(0, PositionsAt(context.NodeOf(path[0]), 0), within);
    // Positions count in any field, but documents are found by searched fields.
    if (const segment::FieldSet* const searched = context.query.scope.fields())
      return postings.InFields(0, *searched, &near);
    return near;
  }

  bool RanksOneByOne(bool) const override { return true; }

  void AppendScoreDetails(DetailWriter& out, const Detail& detail, const Detail*) const override {
    if (half_) return;  // shown by the other half
    out.Begin(kWordPositionRule.name);
    out.Score("score", detail.share());
  }

 private:
  const bool half_;
};

}  // namespace

uint32_t PositionCostOf(uint32_t position, uint32_t query_position, uint32_t slots) {
  if (slots == 1 && position < kTable && query_position < kExactPositions)
    return kPositionCosts[query_position][position];
  const uint32_t bucketed = BucketedPosition(position);
  const uint32_t delta =
      bucketed > query_position ? bucketed - query_position : query_position - bucketed;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < slots; ++i) sum += CostOfDistance(delta + i);
  return sum;
}

const RuleDeclaration kWordPositionRule{
    .name = "wordPosition",
    .add =
        [](const index::RankingRule& setting, const RuleInputs&, Rules& rules) {
          AddRule(rules, std::make_unique<WordPosition>(setting.name == kAttributeRule.name));
        },
};

}  // namespace gannet::search
