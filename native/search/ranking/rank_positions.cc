// A rule that adds up a cost along a path, for any documents: each is read, and takes the cheapest of all paths over the positions
// where its words stand (candidates.h).
#include <algorithm>
#include <map>
#include <utility>

#include "search/ranking/candidates.h"
#include "search/ranking/forward_scan.h"
#include "search/ranking/rank.h"

namespace gannet::search {
namespace {

constexpr uint32_t kGapNever = 1u << 20;

// Lowers `forward` and `backward` to the smallest distances within a field: right after left, left after right.
// Both lists ascend.
void SmallestGaps(std::span<const TokenPosition> left, std::span<const TokenPosition> right, uint32_t& forward, uint32_t& backward) {
  size_t next = 0;  // first right position that is not before the left one
  for (const TokenPosition x : left) {
    while (next < right.size() && right[next] < x) ++next;
    if (next > 0 && ((right[next - 1] ^ x) >> 16) == 0) backward = std::min(backward, x - right[next - 1]);
    size_t after = next;
    if (after < right.size() && right[after] == x) ++after;  // a word is not its own neighbour
    if (after < right.size() && ((right[after] ^ x) >> 16) == 0) forward = std::min(forward, right[after] - x);
    if (forward == 1 && backward == 1) return;
  }
}

}  // namespace

void Ranker::Expand(const std::vector<Path>& paths) {
  for (const Path& path : paths) {
    for (const Step& step : path) {
      Node& node = NodeOf(step);
      graph_->Class(node, 0);
      for (int typos = 1; typos < kTypoClasses; ++typos) {
        if (step.typos < 0 ? !step.verbatim : step.typos == typos) graph_->Class(node, typos);
      }
    }
  }
}

uint32_t Ranker::WordDistance(DocId docid, const State& left, const Step& step, const State& right) {
  uint32_t best = kFarCost, forward = kGapNever, backward = kGapNever;
  for (const auto l : left.positions) {
    for (const auto r : right.positions) SmallestGaps(l, r, forward, backward);
  }
  best = std::min(best, forward - 1);
  // For a short prefix the pairs in the other order are those of the word itself.
  const Node& node = NodeOf(step);
  if (node.short_prefix && step.typos <= 0) {
    backward = kGapNever;
    const auto verbatim = candidates_->WordPositions(docid, node.verbatim);
    uint32_t unused = kGapNever;
    for (const auto l : left.positions) SmallestGaps(l, verbatim, unused, backward);
  }
  best = std::min(best, backward);
  const auto ahead = [&](std::span<const TokenPosition> l, std::span<const TokenPosition> r) {
    uint32_t gap = kGapNever, unused = kGapNever;
    SmallestGaps(l, r, gap, unused);
    best = std::min(best, gap - 1);
  };
  for (const auto l : left.ends) {
    for (const auto r : right.positions) ahead(l, r);
    for (const PhrasePositions& r : right.phrases) ahead(l, r.first);
  }
  for (const PhrasePositions& r : right.phrases) {
    for (const auto l : left.positions) ahead(l, r.first);
  }
  return best;
}

uint32_t Ranker::StepCost(RuleKind kind, DocId docid, const Step* previous, const State* left, const Step& step,
                          const State& right) {
  const Node& node = NodeOf(step);
  const uint32_t slots = node.slots();
  const auto for_each_position = [&](auto&& sink) {
    for (const auto list : right.positions) {
      for (const TokenPosition position : list) sink(position);
    }
    for (const PhrasePositions& phrase : right.phrases) {
      for (const TokenPosition position : phrase.first_real) sink(position);
    }
  };
  switch (kind) {
    case RuleKind::kProximity: {
      if (previous == nullptr || NodeOf(*previous).term.last + 1 != node.term.first) return slots - 1;
      return slots - 1 + WordDistance(docid, *left, step, right);
    }
    case RuleKind::kAttributeRank: {
      uint32_t best = max_weight_;
      for_each_position([&](TokenPosition position) {
        if (graph_->scope().Searches(FieldOf(position))) best = std::min(best, snapshot_.traits[FieldOf(position)].weight);
      });
      return best * slots;
    }
    case RuleKind::kWordPosition: {
      uint32_t best = 10 * slots;
      const auto first = static_cast<uint32_t>(node.term.first);
      for_each_position([&](TokenPosition position) {
        best = std::min(best, PositionCostOf(PositionOf(position), first, slots));
      });
      return best;
    }
    default: return 0;
  }
}

void Ranker::AddByPositions(const Bucket& bucket, RuleKind kind, uint32_t max, Sources& sources) {
  Expand(bucket.paths);
  candidates_->LoadUnknown(bucket.documents);
  // Cost and path of every document, then one list per cost and path.
  struct Group {
    std::vector<DocId> documents;
    std::vector<PathTaken> paths;
  };
  std::map<std::pair<size_t, uint32_t>, Group> groups;
  struct Known {
    Step step;
    State state;
  };
  std::vector<Known> states;
  size_t states_used = 0;
  const auto state_of = [&](DocId docid, const Step& step) -> size_t {
    for (size_t i = 0; i < states_used; ++i) {
      if (states[i].step == step) return i;
    }
    if (states_used == states.size()) states.emplace_back();
    states[states_used].step = step;
    candidates_->StateOf(docid, NodeOf(step), step.typos, step.verbatim, states[states_used].state);
    return states_used++;
  };
  bucket.documents.ForEach([&](uint32_t docid) {
    states_used = 0;
    uint32_t best = ~uint32_t{0};
    size_t best_path = 0;
    uint32_t best_verbatim = 0;
    for (size_t p = 0; p < bucket.paths.size(); ++p) {
      const Path& path = bucket.paths[p];
      uint32_t total = 0, verbatim = 0;
      bool matches = true;
      size_t left = 0;
      for (size_t i = 0; i < path.size() && total < best; ++i) {
        const size_t at = state_of(docid, path[i]);
        if (!states[at].state.matches) {
          matches = false;
          break;
        }
        if (kind == RuleKind::kExactWords) {
          const bool possible = path[i].typos <= 0 && states[state_of(docid, {path[i].node, path[i].typos, true})].state.matches;
          if (possible) {
            verbatim |= 1u << i;
          } else {
            total += NodeOf(path[i]).slots();
          }
        } else {
          total += StepCost(kind, docid, i == 0 ? nullptr : &path[i - 1], i == 0 ? nullptr : &states[left].state,
                            path[i], states[at].state);
        }
        left = at;
      }
      if (matches && total < best) {
        best = total;
        best_path = p;
        best_verbatim = verbatim;
      }
    }
    if (best == ~uint32_t{0}) {
      // Cannot happen while docsets and forward index agree; the document is placed last rather than lost.
      best = max;
    }
    Group& group = groups[{best_path, best}];
    group.documents.push_back(docid);
    Path path = bucket.paths[best_path];
    if (kind == RuleKind::kExactWords) {
      for (size_t i = 0; i < path.size(); ++i) path[i].verbatim = path[i].verbatim || (best_verbatim >> i & 1) != 0;
    }
    const bool known = std::any_of(group.paths.begin(), group.paths.end(), [&](const PathTaken& taken) {
      return taken.number == best_path && taken.path == path;
    });
    if (!known) group.paths.push_back({static_cast<uint32_t>(best_path), docid, std::move(path)});
  });
  for (auto group = groups.begin(); group != groups.end();) {
    std::map<uint32_t, CostBucket> of_path;
    for (const size_t path = group->first.first; group != groups.end() && group->first.first == path; ++group) {
      of_path[group->first.second] = {DocSet::FromSorted(group->second.documents), {}, std::move(group->second.paths)};
    }
    sources.push_back(std::make_unique<KnownCosts>(std::move(of_path)));
  }
}

}  // namespace gannet::search
