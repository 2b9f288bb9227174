#include "search/sweep.h"

#include <algorithm>
#include <array>

namespace gannet::search {
namespace {

constexpr uint32_t kPositionCostMax = 10;

uint32_t PositionCost(uint32_t delta) {
  static constexpr uint32_t kSteps[] = {0, 1, 4, 7, 11, 16, 24, 64, 256, 1024};
  uint32_t cost = 0;
  while (cost < kPositionCostMax && delta > kSteps[cost]) ++cost;
  return cost;
}

// For the positions and query positions that occur most.
constexpr uint32_t kTable = 64;
const std::array<std::array<uint8_t, kTable>, 16> kPositionCosts = [] {
  std::array<std::array<uint8_t, kTable>, 16> table{};
  for (uint32_t query = 0; query < 16; ++query) {
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
  if (position < 16) return position;
  if (position < 24) return 24;
  if (position == 24) return 32;
  uint32_t power = 32;
  while (power < position) power *= 2;
  return power;
}

uint32_t PositionCostOf(uint32_t position, uint32_t query_position, uint32_t slots) {
  if (slots == 1 && position < kTable && query_position < 16) return kPositionCosts[query_position][position];
  const uint32_t bucketed = BucketedPosition(position);
  const uint32_t delta = bucketed > query_position ? bucketed - query_position : query_position - bucketed;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < slots; ++i) sum += PositionCost(delta + i);
  return sum;
}

void SmallestGaps(std::span<const Place> left, std::span<const Place> right, uint32_t& forward, uint32_t& backward) {
  size_t next = 0;  // first right place that is not before the left one
  for (const Place x : left) {
    while (next < right.size() && right[next] < x) ++next;
    if (next > 0 && ((right[next - 1] ^ x) >> 16) == 0) backward = std::min(backward, x - right[next - 1]);
    size_t after = next;
    if (after < right.size() && right[after] == x) ++after;  // a word is not its own neighbour
    if (after < right.size() && ((right[after] ^ x) >> 16) == 0) forward = std::min(forward, right[after] - x);
    if (forward == 1 && backward == 1) return;
  }
}

bool PathSweep::Supports(Graph& graph, const Path& path) {
  for (const Step& step : path) {
    Node& node = graph.nodes()[step.node];
    if (node.term.phrase) {
      if (graph.Class(node, 0).phrases.size() != 1) return false;
      continue;
    }
    // Typos and ngrams keep to tolerant fields, word by word.
    if (graph.scope().any_exact && (step.typos != 0 || node.ngram())) return false;
    if (step.verbatim) {
      graph.Class(node, 0);
      if (node.verbatim == kNoWord || node.short_prefix) return false;
      continue;
    }
    for (int c = step.typos < 0 ? 0 : step.typos; c <= (step.typos < 0 ? kTypoClasses - 1 : step.typos); ++c) {
      if (!graph.Class(node, c).phrases.empty()) return false;
    }
  }
  return !graph.snapshot().settings->proximity_by_attribute;
}

PathSweep::PathSweep(Graph& graph, Path path, uint32_t max_weight)
    : graph_(graph), path_(std::move(path)), max_weight_(max_weight), places_(path_.size() * 3) {}

void PathSweep::Run(const DocSet& documents) {
  costs_.clear();
  costs_.reserve(documents.size());
  const auto by_docid = [](const PathCosts& a, const PathCosts& b) { return a.docid < b.docid; };
  const auto& segments = graph_.snapshot().segments;
  std::vector<size_t> runs{0};  // ascending docids between one and the next
  for (size_t s = 0; s < segments.size(); ++s) {
    const index::SegmentView& view = *segments[s];
    if (segments.size() == 1) {
      RunSegment(s, documents);
    } else if (const DocSet here = documents & view.live; !here.empty()) {
      RunSegment(s, here);
    }
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

std::vector<std::vector<DocId>> PathSweep::ByCost(uint16_t PathCosts::*cost, uint32_t max, const DocSet& within) const {
  std::vector<std::vector<DocId>> parts(max + size_t{1});
  const auto place = [&](const PathCosts& entry) { parts[std::min<uint32_t>(entry.*cost, max)].push_back(entry.docid); };
  if (costs_.size() == within.size()) {
    for (const PathCosts& entry : costs_) place(entry);
    return parts;
  }
  auto at = costs_.begin();
  within.ForEach([&](DocId docid) {
    at = std::lower_bound(at, costs_.end(), docid, [](const PathCosts& entry, DocId id) { return entry.docid < id; });
    if (at != costs_.end() && at->docid == docid) place(*at);
  });
  return parts;
}

void PathSweep::RunSegment(size_t segment, const DocSet& documents) {
  const segment::TextReader& text = *graph_.snapshot().segments[segment]->text;
  const auto& words = graph_.words();
  RoleMap roles(text);
  for (size_t i = 0; i < path_.size(); ++i) {
    const Step& step = path_[i];
    const Node& node = graph_.nodes()[step.node];
    const auto add_word = [&](WordNumber word, size_t role, const std::pair<Ordinal, Ordinal>& range) {
      const Ordinal ordinal = words[word].ordinals[segment];
      if (ordinal == kNoOrdinal || (ordinal >= range.first && ordinal < range.second)) return;
      roles.Add(ordinal, static_cast<Role>(role));
    };
    if (node.term.phrase) {
      const std::vector<WordNumber>& phrase = node.classes[0].phrases[0].words;
      const auto first = std::find_if(phrase.begin(), phrase.end(), [](WordNumber word) { return word != kNoWord; });
      if (first != phrase.end()) add_word(*first, i, {0, 0});
      if (phrase.front() != kNoWord) add_word(phrase.front(), path_.size() + i, {0, 0});
      if (phrase.back() != kNoWord) add_word(phrase.back(), path_.size() * 2 + i, {0, 0});
      continue;
    }
    if (step.verbatim) {
      add_word(node.verbatim, i, {0, 0});
      continue;
    }
    for (int c = step.typos < 0 ? 0 : step.typos; c <= (step.typos < 0 ? kTypoClasses - 1 : step.typos); ++c) {
      const Derivations& derivations = node.classes[c];
      std::pair<Ordinal, Ordinal> range{0, 0};
      if (derivations.has_range) {
        range = derivations.ranges[segment];
        roles.AddRange(range.first, range.second, static_cast<Role>(i));
      }
      for (const WordNumber word : derivations.words) add_word(word, i, range);
    }
    if (node.short_prefix && step.typos <= 0 && node.verbatim != kNoWord) {
      add_word(node.verbatim, path_.size() + i, {0, 0});
    }
  }
  roles.Seal();
  text.ForEachRecord(documents, [&](uint32_t docid, std::string_view record) {
    for (auto& list : places_) list.clear();
    roles.Scan(record, [&](Role role, Place at) { places_[role].push_back(at); });
    costs_.push_back(CostsOf(docid));
  });
}

PathCosts PathSweep::CostsOf(DocId docid) const {
  PathCosts costs{docid, 0, 0, 0};
  const Node* previous = nullptr;
  for (size_t i = 0; i < path_.size(); ++i) {
    const Node& node = graph_.nodes()[path_[i].node];
    const uint32_t slots = node.slots();
    const std::vector<Place>& here = places_[i];
    uint32_t distance = 0;
    if (previous != nullptr && previous->term.last + 1 == node.term.first) {
      uint32_t forward = kGapNever, backward = kGapNever;
      const bool ends_phrase = previous->term.phrase, begins_phrase = node.term.phrase;
      SmallestGaps(places_[ends_phrase ? path_.size() * 2 + i - 1 : i - 1], begins_phrase ? places_[path_.size() + i] : here,
                   forward, backward);
      // A phrase has no pairs in the other order; those of a short prefix are those of the word itself.
      if (ends_phrase || begins_phrase) {
        backward = kGapNever;
      } else if (node.short_prefix && path_[i].typos <= 0) {
        backward = kGapNever;
        uint32_t unused = kGapNever;
        if (forward > 1) SmallestGaps(places_[i - 1], places_[path_.size() + i], unused, backward);
      }
      distance = std::min({kFarCost, forward - 1, backward});
    }
    costs.proximity = static_cast<uint16_t>(costs.proximity + distance + slots - 1);
    if (max_weight_ > 0) {
      uint32_t best = max_weight_;
      for (const Place place : here) {
        if (graph_.scope().Searches(FieldOf(place))) best = std::min(best, graph_.snapshot().traits[FieldOf(place)].weight);
      }
      costs.attribute = static_cast<uint16_t>(costs.attribute + best * slots);
    }
    uint32_t best = kPositionCostMax * slots;
    const auto first = static_cast<uint32_t>(node.term.first);
    for (const Place place : here) best = std::min(best, PositionCostOf(PositionOf(place), first, slots));
    costs.position = static_cast<uint16_t>(costs.position + best);
    previous = &node;
  }
  return costs;
}

}  // namespace gannet::search
