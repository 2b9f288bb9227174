#include "search/query/graph.h"

#include <gtest/gtest.h>

#include "search/query/query_bench.h"

namespace gannet::search {
namespace {

struct Shape {
  std::string text;
  uint32_t first_slot, last_slot;
  bool operator==(const Shape&) const = default;
};

std::vector<Shape> ShapesOf(const Graph& graph) {
  std::vector<Shape> shapes;
  for (const Node& node : graph.nodes())
    shapes.push_back({node.text, node.first_slot, node.last_slot});
  return shapes;
}

TEST(Graph, HasTermsAndWordsGluedTogether) {
  QueryBench bench({R"({"id":0})"});
  bench.SetQuery({"new", "york", "city", "hall"});
  EXPECT_EQ(ShapesOf(bench.graph()), (std::vector<Shape>{{"new", 0, 0},
                                                         {"york", 1, 1},
                                                         {"city", 2, 2},
                                                         {"hall", 3, 3},
                                                         {"newyork", 0, 1},
                                                         {"newyorkcity", 0, 2},
                                                         {"yorkcity", 1, 2},
                                                         {"yorkcityhall", 1, 3},
                                                         {"cityhall", 2, 3}}));
  const Node& glued = bench.graph()[5];
  EXPECT_TRUE(glued.ngram());
  EXPECT_EQ(glued.slots(), 3u);
  EXPECT_EQ(glued.term.first, 0);
  EXPECT_EQ(glued.term.last, 2);
  EXPECT_EQ(glued.term.words.size(), 3u);
}

TEST(Graph, QuotedPhrasesAndGapsAreNotConcatenated) {
  QueryBench bench({R"({"id":0})"});
  const Term phrase{.words = {"deep", "sea"}, .phrase = true, .mandatory = true};
  bench.SetTerms({{.words = {"old"}}, phrase, {.words = {"man"}}});
  EXPECT_EQ(ShapesOf(bench.graph()),
            (std::vector<Shape>{{"old", 0, 0}, {"", 1, 1}, {"man", 2, 2}}));
  ParsedQuery apart;
  apart.terms = {{.words = {"old"}, .first = 0, .last = 0},
                 {.words = {"man"}, .first = 2, .last = 2}};
  EXPECT_EQ(Graph(bench.snapshot(), apart).nodes().size(), 2u);
}

TEST(Graph, OmitsConcatenatedWordsLongerThanAWordMayBe) {
  QueryBench bench({R"({"id":0})"});
  bench.SetQuery({std::string(200, 'a'), std::string(51, 'b')});
  EXPECT_EQ(bench.graph().nodes().size(), 2u);
}

TEST(Graph, LastTermMakesAPrefix) {
  QueryBench bench({R"({"id":0})"});
  bench.SetQuery({"new", "york", "ci"}, true);
  for (const Node& node : bench.graph().nodes())
    EXPECT_EQ(node.term.prefix, node.last_slot == 2) << node.text;
}

TEST(Graph, TyposAreAllowedByLengthLessOneForEachGlue) {
  QueryBench bench({R"({"id":0})"}, R"({"typoTolerance":{"disableOnWords":["special"]}})");
  bench.SetQuery({"four", "fives", "ninechars", "special"});
  const auto allowed = [&](const char* text) {
    return bench.graph()[bench.NodeOf(text)].allowed_typos;
  };
  EXPECT_EQ(allowed("four"), 0u);
  EXPECT_EQ(allowed("fives"), 1u);
  EXPECT_EQ(allowed("ninechars"), 2u);
  EXPECT_EQ(allowed("special"), 0u);
  EXPECT_EQ(allowed("fourfives"), 1u);           // 9 characters, less one
  EXPECT_EQ(allowed("fourfivesninechars"), 0u);  // less two
}

TEST(Graph, NoTyposIfDisabled) {
  QueryBench bench({R"({"id":0})"});
  bench.SetQuery({"ninechars"});
  EXPECT_EQ(bench.graph()[0].allowed_typos, 0u);
}

// A word in a script without spaces becomes a phrase that may be dropped.
TEST(Graph, SynonymsOfRunsWithPhrasesOfCharactersAreNodesOfTheirOwn) {
  QueryBench bench({R"({"id":0})"}, R"({"synonyms":{"a b":["letters"],"a b word":["more"]}})");
  const Term characters{.words = {"a", "b"}, .phrase = true};
  bench.SetTerms({characters, {.words = {"word"}}, {.words = {"other"}}});
  std::vector<Shape> synonyms;
  for (const Node& node : bench.graph().nodes()) {
    if (node.synonyms_only)
      synonyms.push_back({WordsKey(node.term), node.first_slot, node.last_slot});
  }
  EXPECT_EQ(synonyms, (std::vector<Shape>{{"a b", 0, 0}, {"a b word", 0, 1}}));
}

TEST(Step, CountsAllClassesUntilOneIsChosen) {
  const Step any{0, -1, false}, one{0, 1, false};
  EXPECT_EQ(any.first_class(), 0);
  EXPECT_EQ(any.last_class(), kClasses - 1);
  EXPECT_EQ(one.first_class(), 1);
  EXPECT_EQ(one.last_class(), 1);
}

}  // namespace
}  // namespace gannet::search
