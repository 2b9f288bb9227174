#include "search/ranking/paths.h"

#include <algorithm>
#include <functional>
#include <map>

namespace gannet::search {
namespace {

constexpr uint32_t kStays = ~uint32_t{0};  // for a slot that is never left out

// Walks the query from the left. At each slot it tries the nodes that begin there, shortest first,
// then leaving the slot out. A slot that is left out takes with it the slots later in the query
// that are removed before it. Slots earlier in the query stay, even if they are removed before it:
// a path is built from the left and never revised.
struct PathMaker {
  const Graph& graph;
  // By slot: its group in the order of removal, or kStays.
  const std::vector<uint32_t>& goes;
  std::vector<std::vector<Path>>& stages;
  Path path;

  // Adds the paths that begin with `path`, which ends before `slot` and leaves out `dropped` slots.
  // last_removed: maximum of `goes` over the omitted slots.
  void Add(uint32_t slot, uint32_t last_removed, size_t dropped);
};

void PathMaker::Add(uint32_t slot, uint32_t last_removed, size_t dropped) {
  if (slot == goes.size()) {
    if (!path.empty()) stages[dropped].push_back(path);
    return;
  }
  const auto& nodes = graph.nodes();
  for (uint32_t slots = 1; slots <= kNgramSlotsMax && slot + slots <= goes.size(); ++slots) {
    // A node is removed with the last of its slots.
    if (*std::max_element(&goes[slot], &goes[slot] + slots) < last_removed) continue;
    for (NodeNumber n = 0; n < nodes.size(); ++n) {
      if (nodes[n].first_slot != slot || nodes[n].slots() != slots) continue;
      path.push_back({n, -1, false});
      Add(slot + slots, last_removed, dropped);
      path.pop_back();
    }
  }
  if (goes[slot] != kStays) Add(slot + 1, std::max(last_removed, goes[slot]), dropped + 1);
}

// Most frequent first; a slot without documents counts as infinitely frequent; equally frequent
// slots are removed together. Counts only the fields that are searched.
std::vector<std::vector<uint32_t>> ByFrequency(NodeDocuments& node_documents,
                                               const std::vector<uint32_t>& slots) {
  const auto& nodes = node_documents.graph().nodes();
  std::map<uint64_t, std::vector<uint32_t>, std::greater<>> groups;
  for (const uint32_t slot : slots) {
    DocSet documents;
    for (NodeNumber n = 0; n < nodes.size(); ++n) {
      if (nodes[n].first_slot <= slot && slot <= nodes[n].last_slot)
        documents |= node_documents.Of(n);
    }
    const uint64_t count = documents.size();
    groups[count == 0 ? ~uint64_t{0} : count].push_back(slot);
  }
  std::vector<std::vector<uint32_t>> ordered;
  for (auto& [count, group] : groups) ordered.push_back(std::move(group));
  return ordered;
}

}  // namespace

PathStages MakeStages(NodeDocuments& node_documents, const ParsedQuery& query,
                      MatchingStrategy strategy) {
  std::vector<uint32_t> all, plain;
  uint32_t phrase_words = 0;
  for (uint32_t slot = 0; slot < query.terms.size(); ++slot) {
    all.push_back(slot);
    const Term& term = query.terms[slot];
    if (!term.mandatory) plain.push_back(slot);
    phrase_words += term.counted;
  }
  std::vector<std::vector<uint32_t>> groups;
  if (strategy == MatchingStrategy::kLast) {
    for (auto slot = plain.rbegin(); slot != plain.rend(); ++slot) groups.push_back({*slot});
  } else if (strategy == MatchingStrategy::kFrequency) {
    groups = ByFrequency(node_documents, plain);
  }
  // Without a phrase the last group is never removed.
  if (plain.size() == all.size() && !groups.empty()) groups.pop_back();
  std::vector<uint32_t> goes(all.size(), kStays);
  uint32_t removable = 0;
  for (uint32_t round = 0; round < groups.size(); ++round) {
    for (const uint32_t slot : groups[round]) goes[slot] = round;
    removable += static_cast<uint32_t>(groups[round].size());
  }
  PathStages stages;
  stages.paths.resize(removable + 1);
  PathMaker{node_documents.graph(), goes, stages.paths, {}}.Add(0, 0, 0);
  stages.max_matching_words = 1 + removable + (phrase_words > 1 ? phrase_words - 1 : 0);
  return stages;
}

DocSet PathDocuments(NodeDocuments& node_documents, const Path& path, const DocSet* within) {
  // Start with the rarest step, and look for the others in its documents.
  std::vector<std::pair<uint64_t, const Step*>> steps;
  for (const Step& step : path)
    steps.emplace_back(node_documents.Frequency(step.node, step.typos), &step);
  std::stable_sort(steps.begin(), steps.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const DocSet* known = within;
  DocSet documents;
  for (const auto& [frequency, step] : steps) {
    if (known == nullptr) {
      known = step->typos < 0 ? &node_documents.Of(step->node)
                              : &node_documents.Of(step->node, step->typos);
    } else {
      documents = node_documents.Within(step->node, step->typos, *known);
      known = &documents;
    }
    if (known->empty()) return {};
  }
  if (known != &documents) return *known;
  return documents;
}

DocSet DocumentsAlong(NodeDocuments& node_documents, const Path& path, DocSet documents) {
  for (auto step = path.begin(); step != path.end() && !documents.empty(); ++step)
    documents = node_documents.Within(*step, documents);
  return documents;
}

DocSet StagesDocuments(NodeDocuments& node_documents, const PathStages& stages,
                       const DocSet* allowed) {
  // A path that has all the nodes of a shorter path adds no documents to it. Most paths have those
  // of the shortest.
  static_assert(kTermsMax * kNgramSlotsMax <= 32);
  std::vector<uint32_t> shorter;  // nodes as bits
  DocSet universe;
  for (auto stage = stages.paths.rbegin(); stage != stages.paths.rend(); ++stage) {
    for (const Path& path : *stage) {
      uint32_t nodes = 0;
      for (const Step& step : path) nodes |= uint32_t{1} << step.node;
      if (std::any_of(shorter.begin(), shorter.end(),
                      [&](uint32_t other) { return (other & ~nodes) == 0; }))
        continue;
      shorter.push_back(nodes);
      universe |= PathDocuments(node_documents, path, allowed);
    }
  }
  return universe;
}

}  // namespace gannet::search
