// The rule proximity: two adjacent steps cost the distance between their nearest words, less one if
// these are in order (docs/behaviour/ranking.md).
//
// Adjacency postings give the distance of two frequent words. For other words they give a lower
// bound: such documents are ranked as if it were their cost, and read when they are about to enter
// the page (two_phase.h).
#include "search/ranking/rules/proximity.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "search/matching/large_bucket.h"
#include "search/ranking/forward_scan.h"
#include "search/ranking/path_postings.h"
#include "search/ranking/rules.h"
#include "search/ranking/score_details.h"

namespace gannet::search {

uint32_t ConstantPart(const RankContext& context, const Path& path) {
  uint32_t sum = 0;
  for (const Step& step : path) sum += context.NodeOf(step).slots() - 1;
  return sum;
}

namespace {

using End = PathPostings::End;

// With fewer documents per word, reading the documents is faster than reading the lists of each
// word.
constexpr size_t kDocumentsPerWord = 2;

// With more pairs of frequent words per pair of steps, reading documents is faster than reading the
// lists of each pair.
constexpr size_t kPairsLookedUpMax = 4096;

// Whether pairs are those that the reference implementation lists for a short prefix: in front of
// the previous step, only the word as typed counts; behind it, the last word of a phrase counts
// even if the document does not contain the phrase.
bool PairsOfPrefix(const NodeExpansions& expansions, const Step& step) {
  return expansions.short_prefix && step.typos <= 0;
}

// The cost of the distance between a step and the previous one.
uint32_t DistanceCost(ScannedDocument& document, const ScannedStep& left,
                      const ScannedStep& right) {
  uint32_t forward = WordMasks::kFar;
  const auto in_front = [&](Role left_role) {
    forward = std::min(forward, document.Distance(left_role, right.words));
    for (const ScannedPhrase& phrase : right.phrases) {
      if (phrase.held) forward = std::min(forward, document.Distance(left_role, phrase.first));
    }
  };
  in_front(left.words);
  for (const ScannedPhrase& phrase : left.phrases) {
    if (phrase.held) {
      in_front(phrase.last);
    } else {
      forward = std::min(forward, document.Distance(phrase.last, right.short_prefix));
    }
  }
  if (forward == 1) return 0;
  // Phrases have no pairs in reverse order.
  const Role before = PairsOfPrefix(*right.expansions, *right.step) ? right.as_typed : right.words;
  return std::min({kFarCost, forward - 1, document.Distance(before, left.words)});
}

// The proximity of documents of one path by adjacency postings.
class PairPostings {
 public:
  PairPostings(const RankContext& context, const Path& path, const PathPhrases& held)
      : context_(context), path_(path), postings_(context.query, path, held), pairs_(path.size()) {}

  struct Nearest {
    DocSet verified;     // every word directly follows the previous one
    DocSet approximate;  // every word may follow directly; no other document matches
  };
  // The documents of `within` with the lowest cost. nullopt: a step has too many words, so that
  // reading their lists would take too long.
  std::optional<Nearest> SideBySide(const DocSet& within);
  // Documents by cost, without the constant part.
  struct Distances {
    std::vector<DocSet> known;    // by cost
    std::vector<DocSet> unknown;  // by lower bound of the cost
  };
  // The distances of all documents of `within`. REQUIRES: SideBySide returned a value for a
  // superset of `within`.
  Distances ByDistance(const DocSet& within);

 private:
  // The words of two adjacent steps in one segment. Pairs of frequent words are listed.
  struct PairWords {
    // Frequent words; the right step also has the first words of phrases held for it.
    std::vector<Ordinal> left, right;
    std::vector<Ordinal> ends;    // the last words of phrases held for the left step
    std::vector<Ordinal> before;  // words of `right` that also count in front of the left ones
    // The last words of all phrases for the left step, and the words of the short prefix after it.
    std::vector<Ordinal> all_ends, short_prefix;
    std::vector<segment::WordRange> rare;  // the other words of both steps

    size_t pairs() const {
      return left.size() * (right.size() + before.size()) + ends.size() * right.size() +
             all_ends.size() * short_prefix.size();
    }
    // Adds the documents in which a right word follows a left one at a distance.
    void UnionAfter(const segment::TextReader& text, uint32_t distance, DocSetUnion& out) const {
      for (const auto& [lefts, rights] :
           {std::pair(&left, &right), {&ends, &right}, {&all_ends, &short_prefix}}) {
        for (const Ordinal l : *lefts) {
          for (const Ordinal r : *rights) text.UnionAdjacency(l, r, distance, out);
        }
      }
    }
  };
  // The words of step `i` and the previous one, by segment; empty if they are not adjacent in the
  // query.
  const std::vector<PairWords>& WordsOf(size_t i);
  // Documents of `within` with a rare word of the pair, whose distance is not listed.
  DocSet Unlisted(const std::vector<PairWords>& words, const DocSet& within);

  const RankContext& context_;
  const Path& path_;
  PathPostings postings_;
  std::vector<std::optional<std::vector<PairWords>>> pairs_;  // by step; set on first use
};

std::optional<PairPostings::Nearest> PairPostings::SideBySide(const DocSet& within) {
  size_t words = 0;
  for (size_t i = 0; i < path_.size(); ++i) {
    for (size_t s = 0; s < context_.snapshot.segments.size(); ++s) {
      postings_.ForEachRange(i, End::kFirst, s,
                             [&](Ordinal begin, Ordinal end) { words += end - begin; });
    }
  }
  if (words > within.size() / kDocumentsPerWord) return std::nullopt;
  Nearest nearest{within, within};  // approximate: initially all documents
  for (size_t i = 1; i < path_.size(); ++i) {
    const std::vector<PairWords>& pair = WordsOf(i);
    if (pair.empty()) continue;
    const DocSet verified = context_.query.postings.LiveUnion(
        &nearest.approximate, [&](size_t s, const segment::TextReader& text, DocSetUnion& out) {
          pair[s].UnionAfter(text, 1, out);
        });
    nearest.verified &= verified;
    DocSet unlisted = Unlisted(pair, nearest.approximate);
    unlisted |= verified;
    nearest.approximate = std::move(unlisted);
    if (nearest.approximate.empty()) break;
  }
  nearest.approximate -= nearest.verified;
  return nearest;
}

const std::vector<PairPostings::PairWords>& PairPostings::WordsOf(size_t i) {
  if (pairs_[i]) return *pairs_[i];
  std::vector<PairWords>& pairs = pairs_[i].emplace();
  if (!context_.Adjacent(path_, i)) return pairs;
  const Step &left = path_[i - 1], &right = path_[i];
  const Node &left_node = context_.NodeOf(left), &right_node = context_.NodeOf(right);
  const NodeExpansions& right_expansions = context_.query.expansion.Of(right.node);
  for (size_t s = 0; s < context_.snapshot.segments.size(); ++s) {
    const segment::AdjacencyReader& adjacency = context_.snapshot.segments[s]->text->adjacency();
    PairWords& words = pairs.emplace_back();
    const auto gather_into = [&](std::vector<Ordinal>& frequent) {
      return [&](Ordinal begin, Ordinal end) {
        adjacency.Split({begin, end}, frequent, words.rare);
      };
    };
    postings_.ForEachRange(i - 1, End::kLast, s, gather_into(words.left));
    postings_.ForEachRange(i, End::kFirst, s, gather_into(words.right));
    // See DistanceCost.
    const bool both_ways = !left_node.term.phrase && !right_node.term.phrase;
    const bool short_prefix = PairsOfPrefix(right_expansions, right);
    if (both_ways && !short_prefix) {
      words.before = words.right;
    } else if (both_ways) {
      const Ordinal own = context_.query.words.OrdinalOf(right_expansions.verbatim, s);
      if (own != kNoOrdinal && adjacency.Frequent(own)) words.before = {own};
    }
    if (short_prefix) {
      context_.query.expansion.ForEachPhrase(left, [&](const Phrase& phrase) {
        postings_.SinkWordAt(phrase, End::kLast, s, gather_into(words.all_ends));
      });
    }
    if (!words.all_ends.empty()) {
      context_.query.expansion.ForEachRange(right_expansions.classes[0], s,
                                            gather_into(words.short_prefix));
    }
    postings_.ForEachHeld(i - 1, End::kLast, s, gather_into(words.ends));
    postings_.ForEachHeld(i, End::kFirst, s, gather_into(words.right));
  }
  return pairs;
}

DocSet PairPostings::Unlisted(const std::vector<PairWords>& words, const DocSet& within) {
  // Caching the union of all their documents pays only if it is restricted to many.
  const bool few = within.size() <= DocSetUnion::kRestrictionMax;
  uint64_t to_join = 0;
  for (size_t s = 0; !few && s < words.size(); ++s)
    to_join += context_.snapshot.segments[s]->text->ListsToJoin({words[s].rare});
  const auto add = [&](size_t s, const segment::TextReader& text, DocSetUnion& out) {
    if (few) return text.JoinLists({words[s].rare}, out);
    context_.query.postings.UnionLists(s, {words[s].rare}, &within, out);
  };
  return context_.query.postings.LiveUnion(&within, add, to_join);
}

PairPostings::Distances PairPostings::ByDistance(const DocSet& within) {
  static_assert(kFarCost == segment::kAdjacencyDistances);
  Distances by_cost;
  by_cost.known.push_back(within);
  by_cost.unknown.emplace_back();
  for (size_t i = 1; i < path_.size(); ++i) {
    const std::vector<PairWords>& pair = WordsOf(i);
    if (pair.empty()) continue;
    size_t count = 0;
    for (const PairWords& words : pair) count += words.pairs();
    if (count > kPairsLookedUpMax) {
      for (size_t cost = 0; cost < by_cost.known.size(); ++cost)
        by_cost.unknown[cost] |= std::exchange(by_cost.known[cost], DocSet());
      continue;
    }
    const DocSet unlisted = Unlisted(pair, within);
    // Documents that the lists have at a cost: the distance after less one, or the distance before.
    std::vector<DocSet> at(kFarCost);
    for (uint32_t cost = 0; cost < kFarCost; ++cost) {
      at[cost] = context_.query.postings.LiveUnion(
          &within, [&](size_t s, const segment::TextReader& text, DocSetUnion& out) {
            pair[s].UnionAfter(text, cost + 1, out);
            if (cost == 0) return;
            for (const Ordinal left : pair[s].left) {
              for (const Ordinal right : pair[s].before)
                text.UnionAdjacency(right, left, cost, out);
            }
          });
    }
    Distances next;
    next.known.resize(by_cost.known.size() + kFarCost);
    next.unknown.resize(next.known.size());
    const auto spread = [&](DocSet& group, size_t cost, std::vector<DocSet>& to) {
      for (uint32_t own = 0; own <= kFarCost && !group.empty(); ++own) {
        // A rare word may be nearer than the frequent ones, but not nearer than adjacent.
        if (own == 1) {
          next.unknown[cost] |= group & unlisted;
          group -= unlisted;
        }
        DocSet here = own == kFarCost ? std::move(group) : group & at[own];
        if (own < kFarCost) group -= here;
        to[cost + own] |= here;
      }
    };
    for (size_t cost = 0; cost < by_cost.known.size(); ++cost) {
      spread(by_cost.known[cost], cost, next.known);
      spread(by_cost.unknown[cost], cost, next.unknown);
    }
    by_cost = std::move(next);
  }
  return by_cost;
}

// An approximate document is returned at its lower bound. Verify() reads it; if it costs more it is
// returned, verified, at its own cost.
class ProximitySource : public CostSource {
 public:
  ProximitySource(const CostRule& rule, const RankContext& context, OnePath bucket, uint32_t max)
      : rule_(rule),
        bucket_(std::move(bucket)),
        pairs_(context, bucket_.path, bucket_.held),
        scan_(context, {&rule_}, {bucket_.path}, true),
        cost_min_(ConstantPart(context, bucket_.path)),
        waiting_(max + size_t{1}),
        approximate_(max + size_t{1}) {}

  CostBucket At(uint32_t cost) override {
    if (cost < cost_min_) return {};
    if (cost == cost_min_) return Nearest();
    if (cost == cost_min_ + 1 && listed_ && !rest_.empty()) LookUpRest();
    return BucketOf(bucket_, std::move(waiting_[cost]), std::move(approximate_[cost]));
  }

  DocSet Verify(uint32_t cost, const DocSet& among) override {
    const DocSet documents = among & bucket_.documents;
    if (documents.empty()) return {};
    scan_.Run(documents);
    const auto by_cost = scan_.ByCost(rule_, static_cast<uint32_t>(waiting_.size() - 1), documents);
    for (size_t c = 0; c < by_cost.size(); ++c) {
      if (c != cost && !by_cost[c].empty()) waiting_[c] |= DocSet::FromSorted(by_cost[c]);
    }
    return DocSet::FromSorted(by_cost[cost]);
  }

 private:
  CostBucket Nearest() {
    auto nearest = pairs_.SideBySide(bucket_.documents);
    listed_ = nearest.has_value();
    if (!nearest) return BucketOf(bucket_, {}, bucket_.documents);
    rest_ = bucket_.documents - nearest->verified;
    rest_ -= nearest->approximate;
    return BucketOf(bucket_, std::move(nearest->verified), std::move(nearest->approximate));
  }

  void LookUpRest() {
    const auto max = static_cast<uint32_t>(waiting_.size() - 1);
    PairPostings::Distances distances = pairs_.ByDistance(rest_);
    for (uint32_t c = 0; c < distances.known.size(); ++c) {
      waiting_[std::min(cost_min_ + c, max)] |= distances.known[c];
      approximate_[std::min(cost_min_ + std::max(c, 1u), max)] |= distances.unknown[c];
    }
    rest_.Clear();
  }

  const CostRule& rule_;
  OnePath bucket_;
  PairPostings pairs_;
  ForwardScan scan_;
  uint32_t cost_min_;                // lowest cost of the path
  bool listed_ = false;              // whether posting lists are used
  DocSet rest_;                      // documents that cost more than cost_min_
  std::vector<DocSet> waiting_;      // verified documents not yet returned, by cost
  std::vector<DocSet> approximate_;  // documents not yet returned, by lower bound
};

}  // namespace

Proximity::Proximity() : CostRule(kProximityRule.name) {}

uint32_t Proximity::StepMax(const RankContext& context, const Path& path, size_t i) const {
  return context.NodeOf(path[i]).slots() - 1 + (context.Adjacent(path, i) ? kFarCost : 0);
}

std::optional<uint32_t> Proximity::ConstantCost(const RankContext& context,
                                                const Path& path) const {
  for (size_t i = 0; i < path.size(); ++i) {
    if (context.Adjacent(path, i)) return std::nullopt;
  }
  return ConstantPart(context, path);
}

uint32_t Proximity::StepCost(const RankContext&, ScannedDocument& document,
                             const ScannedStep* previous, const ScannedStep& step) const {
  const bool adjacent =
      previous != nullptr && previous->node->term.last + 1 == step.node->term.first;
  return step.node->slots() - 1 + (adjacent ? DistanceCost(document, *previous, step) : 0);
}

uint64_t Proximity::PostingsMin() const { return LargeBucketMin(); }

// Some documents must be verified, so the rule does not rank one by one.
void Proximity::AddPostingSources(const RankContext& context, OnePath group, uint32_t max,
                                  TwoPhase*, Sources& sources) const {
  sources.push_back(std::make_unique<ProximitySource>(*this, context, std::move(group), max));
}

void Proximity::AppendScoreDetails(DetailWriter& out, const Detail& detail, const Detail*) const {
  out.Begin(kProximityRule.name);
  out.Score("score", detail.share());
}

const RuleDeclaration kProximityRule{
    .name = "proximity",
    .add =
        [](const index::RankingRule&, const RuleInputs& inputs, Rules& rules) {
          const bool by_attribute = inputs.settings.proximity_by_attribute && inputs.terms > 1;
          AddRule(rules, by_attribute ? MakeProximityByAttribute() : std::make_unique<Proximity>());
        },
};

}  // namespace gannet::search
