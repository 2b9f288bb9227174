#include "search/ranking/forward_scan.h"

#include <algorithm>
#include <array>

#include "search/matching/document_batches.h"

namespace gannet::search {
namespace {

constexpr uint32_t kPositionCostMax = 10;
constexpr uint32_t kExactPositions = 16;

uint32_t PositionCost(uint32_t delta) {
  static constexpr uint32_t kSteps[] = {0, 1, 4, 7, 11, 16, 24, 64, 256, 1024};
  uint32_t cost = 0;
  while (cost < kPositionCostMax && delta > kSteps[cost]) ++cost;
  return cost;
}

// For the positions and query positions that occur most.
constexpr uint32_t kTable = 64;
const std::array<std::array<uint8_t, kTable>, kExactPositions> kPositionCosts = [] {
  std::array<std::array<uint8_t, kTable>, kExactPositions> table{};
  for (uint32_t query = 0; query < kExactPositions; ++query) {
    for (uint32_t position = 0; position < kTable; ++position) {
      const uint32_t bucketed = BucketedPosition(position);
      table[query][position] =
          static_cast<uint8_t>(PositionCost(bucketed > query ? bucketed - query : query - bucketed));
    }
  }
  return table;
}();

}  // namespace

uint32_t BucketedPosition(uint32_t position) {
  if (position < kExactPositions) return position;
  if (position < 24) return 24;
  if (position == 24) return 32;
  uint32_t power = 32;
  while (power < position) power *= 2;
  return power;
}

uint32_t PositionCostOf(uint32_t position, uint32_t query_position, uint32_t slots) {
  if (slots == 1 && position < kTable && query_position < kExactPositions) return kPositionCosts[query_position][position];
  const uint32_t bucketed = BucketedPosition(position);
  const uint32_t delta = bucketed > query_position ? bucketed - query_position : query_position - bucketed;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < slots; ++i) sum += PositionCost(delta + i);
  return sum;
}

namespace {

// What the nearest word of a run costs. first: the first word of the role in the run.
uint32_t LeastPositionCost(const WordMasks& masks, Role role, const WordMasks::Run& run, uint32_t first, uint32_t wanted,
                           uint32_t slots) {
  const auto cost_of = [&](uint32_t word) { return PositionCostOf(run.position + (word - run.begin), wanted, slots); };
  uint32_t least = cost_of(first);
  if (least == 0 || run.position + (first - run.begin) >= wanted) return least;
  if (wanted >= kExactPositions) {
    // Positions before it may cost as if they were behind it.
    for (uint32_t word = first; word != WordMasks::kNone; word = masks.First(role, word + 1, run.end)) {
      least = std::min(least, cost_of(word));
    }
    return least;
  }
  const uint32_t pivot = std::min(run.begin + (wanted - run.position), run.end);
  least = std::min(least, cost_of(masks.Last(role, run.begin, pivot)));
  if (const uint32_t behind = masks.First(role, pivot, run.end); behind != WordMasks::kNone) least = std::min(least, cost_of(behind));
  return least;
}

}  // namespace

bool ForwardScan::Supports(Graph& graph, const Path& path) {
  for (const Step& step : path) {
    Node& node = graph.nodes()[step.node];
    if (node.term.phrase) {
      if (graph.Class(node, 0).phrases.size() != 1) return false;
      continue;
    }
    if (step.verbatim) {
      graph.Class(node, 0);
      if (node.verbatim == kNoWord) return false;
      continue;
    }
    for (int c = step.typos < 0 ? 0 : step.typos; c <= (step.typos < 0 ? kTypoClasses - 1 : step.typos); ++c) graph.Class(node, c);
  }
  return true;
}

ForwardScan::ForwardScan(Graph& graph, Path path, PathPhrases held, uint32_t max_weight)
    : graph_(graph), path_(std::move(path)), held_(std::move(held)), max_weight_(max_weight) {
  for (const Step& step : path_) {
    bool any = false;
    graph_.ForEachPhrase(step, [&](const Phrase&) { any = true; });
    ends_.push_back(any);
  }
}

void ForwardScan::Run(const DocSet& documents, Costs wanted) {
  wanted_ = wanted;
  costs_.clear();
  costs_.reserve(documents.size());
  const auto by_docid = [](const PathCosts& a, const PathCosts& b) { return a.docid < b.docid; };
  std::vector<size_t> runs{0};  // ascending docids between one and the next
  const auto read = [&](const DocumentBatch& batch, std::vector<PathCosts>& costs) { RunSegment(batch.segment, batch.documents, costs); };
  for (const auto& costs : ReadBatches<PathCosts>(BatchesOf(graph_.snapshot(), documents), read)) {
    costs_.insert(costs_.end(), costs.begin(), costs.end());
    if (costs_.size() == runs.back()) continue;
    if (runs.back() > 0 && by_docid(costs_[runs.back() - 1], costs_[runs.back()])) runs.pop_back();
    runs.push_back(costs_.size());
  }
  // Runs are merged in pairs until one is left.
  while (runs.size() > 2) {
    const auto at = [&](size_t i) { return costs_.begin() + static_cast<ptrdiff_t>(runs[i]); };
    std::vector<size_t> merged{0};
    for (size_t i = 0; i + 2 < runs.size(); i += 2) {
      std::inplace_merge(at(i), at(i + 1), at(i + 2), by_docid);
      merged.push_back(runs[i + 2]);
    }
    if (merged.back() != costs_.size()) merged.push_back(costs_.size());
    runs = std::move(merged);
  }
}

std::vector<std::vector<DocId>> ForwardScan::ByCost(uint16_t PathCosts::*cost, uint32_t max, const DocSet& within) const {
  std::vector<std::vector<DocId>> by_cost(max + size_t{1});
  const auto place = [&](const PathCosts& entry) { by_cost[std::min<uint32_t>(entry.*cost, max)].push_back(entry.docid); };
  if (costs_.size() == within.size()) {
    for (const PathCosts& entry : costs_) place(entry);
    return by_cost;
  }
  auto at = costs_.begin();
  within.ForEach([&](DocId docid) {
    at = std::lower_bound(at, costs_.end(), docid, [](const PathCosts& entry, DocId id) { return entry.docid < id; });
    if (at != costs_.end() && at->docid == docid) place(*at);
  });
  return by_cost;
}

void ForwardScan::RunSegment(size_t segment, const DocSet& documents, std::vector<PathCosts>& costs) const {
  const segment::TextReader& text = *graph_.snapshot().segments[segment]->text;
  WordMasks masks(text, path_.size() * (held_.empty() ? 3 : 5));
  for (size_t i = 0; i < path_.size(); ++i) {
    const Step& step = path_[i];
    const Node& node = graph_.nodes()[step.node];
    const auto add_word = [&](WordNumber word, size_t role) {
      if (const Ordinal ordinal = graph_.OrdinalOf(word, segment); ordinal != kNoOrdinal) masks.Add(static_cast<Role>(role), ordinal);
    };
    if (node.term.phrase) {
      const Phrase& phrase = node.classes[0].phrases[0];
      add_word(phrase.FirstReal(), i);
      add_word(phrase.words.front(), OuterRole(i));
      add_word(phrase.words.back(), LastRole(i));
      continue;
    }
    graph_.ForEachRange(step, segment, [&](Ordinal begin, Ordinal end) { masks.AddRange(static_cast<Role>(i), begin, end); });
    if (node.short_prefix && step.typos <= 0) add_word(node.verbatim, OuterRole(i));
    if (!ends_[i]) continue;
    graph_.ForEachRange(step, segment, [&](Ordinal begin, Ordinal end) { masks.AddRange(LastRole(i), begin, end); });
    graph_.ForEachPhrase(step, [&](const Phrase& phrase) { add_word(phrase.words.back(), LastRole(i)); });
    if (!Holds(i)) continue;
    for (const Role role : {FollowingRole(i), PositionRole(i)}) {
      graph_.ForEachRange(step, segment, [&](Ordinal begin, Ordinal end) { masks.AddRange(role, begin, end); });
    }
    for (const Phrase* phrase : held_[i]) {
      add_word(phrase->words.front(), FollowingRole(i));
      add_word(phrase->FirstReal(), PositionRole(i));
    }
  }
  masks.Seal();
  text.ForEachRecord(documents, [&](uint32_t docid, std::string_view record) {
    masks.Read(record);
    costs.push_back(CostsOf(docid, masks));
  });
}

PathCosts ForwardScan::CostsOf(DocId docid, WordMasks& masks) const {
  PathCosts costs{docid, 0, 0, 0};
  const Node* previous = nullptr;
  for (size_t i = 0; i < path_.size(); ++i) {
    const Node& node = graph_.nodes()[path_[i].node];
    const uint32_t slots = node.slots();
    uint32_t distance = 0;
    if (previous != nullptr && previous->term.last + 1 == node.term.first) distance = DistanceCost(i, masks);
    costs.proximity = static_cast<uint16_t>(costs.proximity + distance + slots - 1);
    previous = &node;
    if (wanted_ == Costs::kProximity) continue;
    uint32_t attribute = max_weight_, position = kPositionCostMax * slots;
    const Role role = PositionRole(i);
    const auto runs = masks.runs();
    auto run = runs.begin();
    for (uint32_t word = masks.First(role, 0, masks.size()); word != WordMasks::kNone; word = masks.First(role, run->end, masks.size())) {
      while (run != runs.end() && run->end <= word) ++run;
      if (run == runs.end()) break;  // a damaged record
      if (graph_.scope().Searches(run->field)) attribute = std::min(attribute, graph_.snapshot().traits[run->field].weight);
      if (position > 0) position = std::min(position, LeastPositionCost(masks, role, *run, word, static_cast<uint32_t>(node.term.first), slots));
    }
    costs.attribute = static_cast<uint16_t>(costs.attribute + attribute * slots);
    costs.position = static_cast<uint16_t>(costs.position + position);
  }
  return costs;
}

uint32_t ForwardScan::DistanceCost(size_t i, WordMasks& masks) const {
  const Node& before = graph_.nodes()[path_[i - 1].node];
  const Node& node = graph_.nodes()[path_[i].node];
  const bool ends_phrase = before.term.phrase, begins_phrase = node.term.phrase;
  const auto left = static_cast<Role>(i - 1);
  const auto right = static_cast<Role>(i);
  const Role following = begins_phrase ? OuterRole(i) : Holds(i) ? FollowingRole(i) : right;
  const uint32_t forward = masks.Distance(ends_phrase || ends_[i - 1] ? LastRole(i - 1) : left, following) - 1;
  // A phrase has no pairs in the other order; those of a short prefix are those of the word itself.
  if (forward == 0 || ends_phrase || begins_phrase) return forward;
  const bool own = node.short_prefix && path_[i].typos <= 0;
  return std::min({kFarCost, forward, masks.Distance(own ? OuterRole(i) : right, left)});
}

}  // namespace gannet::search
