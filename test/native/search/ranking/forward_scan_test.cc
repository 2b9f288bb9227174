#include "search/ranking/forward_scan.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "index/indexed_documents.h"
#include "search/ranking/path_postings.h"
#include "search/ranking/rules/rule_bench.h"
#include "search/ranking/rules/proximity.h"
#include "test_seed.h"

namespace gannet::search {
namespace {

// The cost of a path in a document, computed from each of its words.
struct PathCosts {
  uint32_t proximity = 0, attribute = 0, position = 0;
};

struct Word {
  FieldId field;
  uint32_t position;
};

struct NaiveScan {
  const QueryEvaluator& query;
  const Path& path;
  uint32_t max_weight;

  static uint32_t StepCost(uint32_t delta) {
    static constexpr uint32_t kUpTo[] = {0, 1, 4, 7, 11, 16, 24, 64, 256, 1024};
    return static_cast<uint32_t>(std::lower_bound(std::begin(kUpTo), std::end(kUpTo), delta) -
                                 std::begin(kUpTo));
  }
  static uint32_t Position(uint32_t position, uint32_t query_position, uint32_t slots) {
    uint32_t bucketed = position;
    if (position >= 16) bucketed = position < 24 ? 24 : 32;
    while (bucketed < position) bucketed *= 2;
    uint32_t sum = 0;
    for (uint32_t slot = 0; slot < slots; ++slot) {
      sum += StepCost(
          (bucketed > query_position ? bucketed - query_position : query_position - bucketed) +
          slot);
    }
    return sum;
  }

  PathCosts Of(DocId docid) const {
    std::vector<std::vector<Word>> of_step(path.size());
    for (const auto& view : query.snapshot.segments) {
      if (!view->live.Contains(docid)) continue;
      const segment::TextReader& text = *view->text;
      segment::ForwardDocument document;
      EXPECT_TRUE(
          text.OpenRecord(text.ForwardRecord(static_cast<uint32_t>(text.Find(docid))), document));
      segment::PositionCursor cursor(document);
      for (uint32_t i = 0; i < document.words.count; ++i) {
        const auto [field, position] = cursor.At(i);
        for (size_t step = 0; step < path.size(); ++step) {
          const auto wanted = text.terms().Find(query.graph.NodeOf(path[step]).text);
          if (wanted && *wanted == document.words.at(i)) of_step[step].push_back({field, position});
        }
      }
    }
    PathCosts costs;
    for (size_t step = 0; step < path.size(); ++step) {
      const Node& node = query.graph.NodeOf(path[step]);
      const uint32_t slots = node.slots();
      uint32_t attribute = max_weight, position = 10 * slots, distance = kFarCost;
      for (const Word& word : of_step[step]) {
        attribute = std::min(attribute, query.snapshot.traits[word.field].weight);
        position = std::min(position,
                            Position(word.position, static_cast<uint32_t>(node.term.first), slots));
        if (step == 0) continue;
        for (const Word& before : of_step[step - 1]) {
          if (before.field != word.field || before.position == word.position) continue;
          distance = std::min(distance, word.position > before.position
                                            ? word.position - before.position - 1
                                            : before.position - word.position);
        }
      }
      costs.attribute += attribute * slots;
      costs.position += position;
      const bool adjacent =
          step > 0 && query.graph.NodeOf(path[step - 1]).term.last + 1 == node.term.first;
      costs.proximity += slots - 1 + (adjacent ? distance : 0);
    }
    return costs;
  }
};

TEST(ForwardScan, CostsAreThoseOfPlainLoops) {
  std::mt19937_64 random(TestSeed());
  static constexpr const char* kWords[] = {"a",  "b",   "c", "d", "ab", "bc",
                                           "cd", "abc", "x", "y", "z"};
  IndexedDocuments index(R"({"typoTolerance":{"enabled":false}})");
  for (DocId segment = 0; segment < 3; ++segment) {
    std::map<DocId, std::string> batch;
    // Docids of two segments are interleaved, and some documents of the first are replaced.
    for (DocId n = 0; n < 60; ++n) {
      std::string document = R"({"id":0)";
      for (const char* field : {"title", "body", "notes"}) {
        if (random() % 4 == 0) continue;
        document += std::string(R"(,")") + field + R"(":")";
        for (uint64_t words = random() % 2 == 0 ? random() % 8 : random() % 120; words > 0;
             --words) {
          document += kWords[random() % 8 < 5 ? 8 + random() % 3 : random() % std::size(kWords)];
          document += random() % 12 == 0 ? ". " : " ";
        }
        document += '"';
      }
      batch[n * 2 + segment % 2] = document + "}";
    }
    index.Put(batch);
  }
  const auto snapshot = index.snapshot();
  const uint32_t max_weight = 9;
  int compared = 0;
  for (int round = 0; round < 200; ++round) {
    ParsedQuery parsed;
    auto position = static_cast<int32_t>(random() % (random() % 2 == 0 ? 4 : 40));
    for (uint64_t n = 1 + random() % 4; n > 0; --n, ++position) {
      if (random() % 5 == 0) ++position;
      parsed.terms.push_back({.words = {std::string(1, static_cast<char>('a' + random() % 4))},
                              .first = position,
                              .last = position});
    }
    const FieldScope scope;
    QueryEvaluator query(*snapshot, scope, parsed);
    const Graph& graph = query.graph;
    Path path;
    for (uint32_t slot = 0; slot < parsed.terms.size();) {
      std::vector<NodeNumber> nodes;
      for (size_t node = 0; node < graph.nodes().size(); ++node) {
        if (graph.nodes()[node].first_slot == slot) nodes.push_back(static_cast<NodeNumber>(node));
      }
      path.push_back({nodes[random() % nodes.size()], static_cast<int8_t>(0), random() % 4 == 0});
      slot = graph.NodeOf(path.back()).last_slot + 1;
    }
    if (!HasPostings(query.expansion, path)) continue;
    const NaiveScan naive{query, path, max_weight};
    const RankContext context{*snapshot, query, max_weight};
    const CostRule &proximity = CostsOf(kProximityRule), &attribute = CostsOf(kAttributeRankRule),
                   &word_position = CostsOf(kWordPositionRule);
    ForwardScan scan(context, {&proximity, &attribute, &word_position}, {path}, true);
    DocSet documents = snapshot->documents;
    for (int n = 0; n < 20; ++n) documents.Remove(static_cast<DocId>(random() % 120));
    scan.Run(documents);
    std::map<DocId, PathCosts> costs;
    const auto take = [&](const CostRule& rule, uint32_t PathCosts::*cost) {
      const auto by_cost = scan.ByCost(rule, rule.PathMax(context, path), documents);
      for (uint32_t c = 0; c < by_cost.size(); ++c) {
        for (const DocId docid : by_cost[c]) costs[docid].*cost = c;
      }
    };
    take(proximity, &PathCosts::proximity);
    take(attribute, &PathCosts::attribute);
    take(word_position, &PathCosts::position);
    ASSERT_EQ(costs.size(), documents.size());
    documents.ForEach([&](DocId docid) {
      const PathCosts expected = naive.Of(docid);
      EXPECT_EQ(costs[docid].proximity, expected.proximity)
          << "round " << round << ", document " << docid;
      EXPECT_EQ(costs[docid].attribute, expected.attribute)
          << "round " << round << ", document " << docid;
      EXPECT_EQ(costs[docid].position, expected.position)
          << "round " << round << ", document " << docid;
      ++compared;
    });
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(compared, 1000);
}

}  // namespace
}  // namespace gannet::search
