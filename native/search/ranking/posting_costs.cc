#include "search/ranking/posting_costs.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace gannet::search {
namespace {

// With fewer documents to a word, reading the documents costs less than asking for the lists of each word.
constexpr size_t kDocumentsPerWord = 2;

// With more pairs of frequent words to a pair of steps, reading documents costs less than looking up the lists of each.
constexpr size_t kPairsAskedMax = 4096;

}  // namespace

template <typename Sink>
void PostingCosts::SinkWordAt(const Phrase& phrase, End end, size_t segment, Sink&& sink) {
  const WordNumber word = end == End::kFirstReal ? phrase.FirstReal() : end == End::kFirst ? phrase.words.front() : phrase.words.back();
  if (const Ordinal ordinal = graph_.OrdinalOf(word, segment); ordinal != kNoOrdinal) sink(ordinal, ordinal + 1);
}

template <typename Sink>
void PostingCosts::ForEachRange(const Step& step, End end, size_t segment, Sink&& sink) {
  Node& node = graph_.nodes()[step.node];
  if (!node.term.phrase) return graph_.ForEachRange(step, segment, sink);
  SinkWordAt(graph_.Class(node, 0).phrases[0], end, segment, sink);
}

template <typename Sink>
void PostingCosts::ForEachHeld(size_t i, End end, size_t segment, Sink&& sink) {
  if (held_.empty()) return;
  for (const Phrase* phrase : held_[i]) SinkWordAt(*phrase, end, segment, sink);
}

DocSet PostingCosts::InBestFields(size_t i, const DocSet* within, uint32_t max_weight) {
  const auto fields = FieldsByWeight(max_weight);
  const auto best = fields.find(0);
  return best == fields.end() ? DocSet() : StepDocuments(i, best->second, within);
}

DocSet PostingCosts::StepDocuments(size_t i, const segment::FieldSet& fields, const DocSet* within) {
  return InLists(i, {.words = {}, .fields = &fields}, within);
}

DocSet PostingCosts::StepAtPositions(size_t i, uint32_t mask, const DocSet* within) {
  return mask == 0 ? DocSet() : InLists(i, {.words = {}, .leading_positions = mask}, within);
}

DocSet PostingCosts::InLists(size_t i, const segment::WordLists& lists, const DocSet* within) {
  const auto for_each = [&](size_t s, auto&& sink) {
    const auto sink_range = [&](Ordinal begin, Ordinal end) {
      const segment::WordRange range(begin, end);
      segment::WordLists of_range = lists;
      of_range.words = {&range, 1};
      sink(of_range);
    };
    ForEachRange(path_[i], End::kFirstReal, s, sink_range);
    ForEachHeld(i, End::kFirstReal, s, sink_range);
  };
  // What stands for the step is known from here on, so that several threads may ask.
  uint64_t to_join = 0;
  for (size_t s = 0; s < graph_.snapshot().segments.size(); ++s) {
    for_each(s, [&](const segment::WordLists& of_range) { to_join += graph_.snapshot().segments[s]->text->ListsToJoin(of_range); });
  }
  const auto add = [&](size_t s, const segment::TextReader&, DocSetUnion& out) {
    for_each(s, [&](const segment::WordLists& of_range) { graph_.UnionLists(s, of_range, within, out); });
  };
  return graph_.LiveUnion(within, add, to_join);
}

std::optional<PostingCosts::Nearest> PostingCosts::SideBySide(const DocSet& within) {
  const size_t segments = graph_.snapshot().segments.size();
  size_t words = 0;
  for (const Step& step : path_) {
    for (size_t s = 0; s < segments; ++s) ForEachRange(step, End::kFirst, s, [&](Ordinal begin, Ordinal end) { words += end - begin; });
  }
  if (words > within.size() / kDocumentsPerWord) return std::nullopt;
  Nearest nearest{within, within};  // approximate: here all that are possible
  for (size_t i = 1; i < path_.size(); ++i) {
    const std::vector<PairWords>& pair = WordsOfPair(i);
    if (pair.empty()) continue;
    const DocSet verified = graph_.LiveUnion(&nearest.approximate, [&](size_t s, const segment::TextReader& text, DocSetUnion& out) {
      for (const Ordinal left : pair[s].left) {
        for (const Ordinal right : pair[s].right) text.UnionAdjacency(left, right, 1, out);
      }
      for (const Ordinal left : pair[s].ends) {
        for (const Ordinal right : pair[s].right) text.UnionAdjacency(left, right, 1, out);
      }
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

const std::vector<PostingCosts::PairWords>& PostingCosts::WordsOfPair(size_t i) {
  if (pairs_[i]) return *pairs_[i];
  const Step &left = path_[i - 1], &right = path_[i];
  const Node &left_node = graph_.nodes()[left.node], &right_node = graph_.nodes()[right.node];
  std::vector<PairWords>& pairs = pairs_[i].emplace();
  if (left_node.term.last + 1 != right_node.term.first) return pairs;
  for (size_t s = 0; s < graph_.snapshot().segments.size(); ++s) {
    const segment::AdjacencyReader& adjacency = graph_.snapshot().segments[s]->text->adjacency();
    PairWords& words = pairs.emplace_back();
    const auto gather_into = [&](std::vector<Ordinal>& frequent) {
      return [&](Ordinal begin, Ordinal end) { adjacency.Split({begin, end}, frequent, words.rare); };
    };
    ForEachRange(left, End::kLast, s, gather_into(words.left));
    ForEachRange(right, End::kFirst, s, gather_into(words.right));
    graph_.ForEachPhrase(left, [&](const Phrase& phrase) { SinkWordAt(phrase, End::kLast, s, gather_into(words.ends)); });
    // As in ForwardScan::DistanceCost.
    const bool both_ways = !left_node.term.phrase && !right_node.term.phrase;
    if (both_ways && (!right_node.short_prefix || right.typos > 0)) {
      words.before = words.right;
    } else if (both_ways) {
      const Ordinal own = graph_.OrdinalOf(right_node.verbatim, s);
      if (own != kNoOrdinal && adjacency.Frequent(own)) words.before = {own};
    }
    ForEachHeld(i, End::kFirst, s, gather_into(words.right));
  }
  return pairs;
}

DocSet PostingCosts::Unlisted(const std::vector<PairWords>& words, const DocSet& within) {
  // Joining all that they stand in, to be kept, pays only where it is cut down to many.
  const bool few = within.size() <= DocSetUnion::kAskedMax;
  uint64_t to_join = 0;
  for (size_t s = 0; !few && s < words.size(); ++s) to_join += graph_.snapshot().segments[s]->text->ListsToJoin({words[s].rare});
  const auto add = [&](size_t s, const segment::TextReader& text, DocSetUnion& out) {
    if (few) return text.JoinLists({words[s].rare}, out);
    graph_.UnionLists(s, {words[s].rare}, &within, out);
  };
  return graph_.LiveUnion(&within, add, to_join);
}

PostingCosts::Distances PostingCosts::ByDistance(const DocSet& within) {
  static_assert(kFarCost == segment::kAdjacencyDistances);
  Distances by_cost;
  by_cost.known.push_back(within);
  by_cost.unknown.emplace_back();
  for (size_t i = 1; i < path_.size(); ++i) {
    const std::vector<PairWords>& pair = WordsOfPair(i);
    if (pair.empty()) continue;
    size_t asked = 0;
    for (const PairWords& words : pair) {
      asked += words.left.size() * (words.right.size() + words.before.size()) + words.ends.size() * words.right.size();
    }
    if (asked > kPairsAskedMax) {
      for (size_t cost = 0; cost < by_cost.known.size(); ++cost) by_cost.unknown[cost] |= std::exchange(by_cost.known[cost], DocSet());
      continue;
    }
    const DocSet unlisted = Unlisted(pair, within);
    // Documents that the lists have at a cost: that far behind less one, or that far in front.
    std::vector<DocSet> at(kFarCost);
    for (uint32_t cost = 0; cost < kFarCost; ++cost) {
      at[cost] = graph_.LiveUnion(&within, [&](size_t s, const segment::TextReader& text, DocSetUnion& out) {
        for (const Ordinal left : pair[s].left) {
          for (const Ordinal right : pair[s].right) text.UnionAdjacency(left, right, cost + 1, out);
          if (cost == 0) continue;
          for (const Ordinal right : pair[s].before) text.UnionAdjacency(right, left, cost, out);
        }
        for (const Ordinal left : pair[s].ends) {
          for (const Ordinal right : pair[s].right) text.UnionAdjacency(left, right, cost + 1, out);
        }
      });
    }
    Distances next;
    next.known.resize(by_cost.known.size() + kFarCost);
    next.unknown.resize(next.known.size());
    const auto spread = [&](DocSet& group, size_t cost, std::vector<DocSet>& to) {
      for (uint32_t own = 0; own <= kFarCost && !group.empty(); ++own) {
        // A rare word may stand nearer than the frequent ones, but not nearer than side by side.
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

template <typename OfStep>
DocSet PostingCosts::OfSum(uint32_t cost, const DocSet& within, OfStep&& of_step) {
  DocSet found;
  const std::function<void(size_t, uint32_t, DocSet)> spread = [&](size_t at, uint32_t left, DocSet documents) {
    if (at == path_.size()) {
      if (left == 0) found |= documents;
      return;
    }
    // Where a step has a cheaper place, that is what it costs.
    for (uint32_t own = 0; own <= left && !documents.empty(); ++own) {
      DocSet here = of_step(at, own, documents);
      if (here.empty()) continue;
      if (own < left) documents -= here;
      spread(at + 1, left - own, std::move(here));
    }
  };
  spread(0, cost, within);
  return found;
}

std::map<uint32_t, segment::FieldSet> PostingCosts::FieldsByWeight(uint32_t max_weight) const {
  const auto& traits = graph_.snapshot().traits;
  std::map<uint32_t, segment::FieldSet> fields;
  for (size_t f = 0; f < traits.size(); ++f) {
    const auto field = static_cast<FieldId>(f);
    if (traits[f].searchable && traits[f].weight < max_weight && graph_.scope().Searches(field)) fields[traits[f].weight].Add(field);
  }
  return fields;
}

DocSet PostingCosts::AtAttribute(uint32_t cost, const DocSet& within, uint32_t max_weight) {
  const auto fields = FieldsByWeight(max_weight);
  return OfSum(cost, within, [&](size_t i, uint32_t own, const DocSet& documents) {
    const uint32_t slots = graph_.nodes()[path_[i].node].slots();
    if (own >= max_weight * slots) return documents;  // what no lighter field has
    if (own % slots != 0) return DocSet();
    const auto set = fields.find(own / slots);
    return set == fields.end() ? DocSet() : StepDocuments(i, set->second, &documents);
  });
}

std::map<uint32_t, DocSet> PostingCosts::ByAttribute(const DocSet& within, uint32_t max_weight) {
  const auto fields = FieldsByWeight(max_weight);
  std::map<uint32_t, DocSet> by_cost;
  by_cost[0] = within;
  for (size_t i = 0; i < path_.size(); ++i) {
    const uint32_t slots = graph_.nodes()[path_[i].node].slots();
    std::map<uint32_t, DocSet> next;
    for (const auto& [weight, set] : fields) {
      const DocSet documents = StepDocuments(i, set, &within);
      for (auto& [cost, group] : by_cost) {
        DocSet here = group & documents;
        if (here.empty()) continue;
        group -= here;
        next[cost + weight * slots] |= here;
      }
    }
    for (auto& [cost, group] : by_cost) {
      if (!group.empty()) next[cost + max_weight * slots] |= group;
    }
    by_cost = std::move(next);
  }
  return by_cost;
}

uint32_t PostingCosts::PositionsAt(const Step& step, uint32_t cost) const {
  const auto wanted = static_cast<uint32_t>(graph_.nodes()[step.node].term.first);
  uint32_t mask = 0;
  for (uint32_t position = 0; position < segment::kLeadingPositions; ++position) {
    if (PositionCostOf(position, wanted, graph_.nodes()[step.node].slots()) == cost) mask |= 1u << position;
  }
  return mask;
}

uint32_t PostingCosts::UnknownPositionCost(const Step& step) const {
  const auto wanted = static_cast<uint32_t>(graph_.nodes()[step.node].term.first);
  return wanted < segment::kLeadingPositions ? PositionCostOf(segment::kLeadingPositions, wanted, graph_.nodes()[step.node].slots()) : 0;
}

uint32_t PostingCosts::known_positions() const {
  uint32_t known = ~uint32_t{0};
  for (const Step& step : path_) known = std::min(known, UnknownPositionCost(step));
  return known;
}

DocSet PostingCosts::AtPosition(uint32_t cost, const DocSet& within) {
  return OfSum(cost, within, [&](size_t i, uint32_t own, const DocSet& documents) {
    return StepAtPositions(i, PositionsAt(path_[i], own), &documents);
  });
}

PostingCosts::Positions PostingCosts::ByPosition(const DocSet& within) {
  Positions positions;
  positions.known[0] = within;
  positions.unknown_least = known_positions();
  for (size_t i = 0; i < path_.size(); ++i) {
    const Step& step = path_[i];
    std::map<uint32_t, DocSet> next;
    for (uint32_t own = 0; own < UnknownPositionCost(step); ++own) {
      const uint32_t mask = PositionsAt(step, own);
      if (mask == 0) continue;
      const DocSet documents = StepAtPositions(i, mask, &within);
      if (documents.empty()) continue;
      for (auto& [cost, group] : positions.known) {
        DocSet here = group & documents;
        if (here.empty()) continue;
        group -= here;
        next[cost + own] |= here;
      }
    }
    for (const auto& [cost, group] : positions.known) positions.unknown |= group;
    positions.known = std::move(next);
  }
  return positions;
}

}  // namespace gannet::search
