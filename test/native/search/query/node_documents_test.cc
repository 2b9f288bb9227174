#include "search/query/node_documents.h"

#include <gtest/gtest.h>

#include "search/query/query_bench.h"

namespace gannet::search {
namespace {

// By class of `kitchen`: 0 {0, 3, 5}, 1 {1, 2}.
const std::vector<std::string> kKitchen = {
    R"({"id":0,"title":"kitchen"})",         R"({"id":1,"title":"kitchens"})",
    R"({"id":2,"title":"kit chen"})",        R"({"id":3,"title":"cookery"})",
    R"({"id":4,"title":"kit of a kitten"})", R"({"id":5,"title":"x","body":"kitchen"})"};
constexpr const char* kSettings = R"({"synonyms":{"kitchen":["cookery"]}})";

TEST(NodeDocuments, AreThoseOfWordsAndPhrasesByClass) {
  QueryBench bench(kKitchen, kSettings);
  bench.SetQuery({"kitchen"});
  NodeDocuments& documents = bench.documents();
  EXPECT_EQ(DocIdsOf(documents.Of(0, 0)), (DocIds{0, 3, 5}));
  EXPECT_EQ(DocIdsOf(documents.Of(0, 1)), (DocIds{1, 2}));
  EXPECT_TRUE(documents.Of(0, 2).empty());
  EXPECT_EQ(DocIdsOf(documents.Of(0)), (DocIds{0, 1, 2, 3, 5}));
}

TEST(NodeDocuments, WithinSomeAreTheSameWhateverIsKnown) {
  for (const uint64_t large_bucket_min : {1, 1024}) {
    for (const bool known : {false, true}) {
      QueryBench bench(kKitchen, kSettings);
      bench.SetLargeBucketMin(large_bucket_min);
      bench.SetQuery({"kitchen"});
      NodeDocuments& documents = bench.documents();
      if (known) documents.Of(0);
      for (const DocIds& within : {DocIds{4}, DocIds{2, 4}, DocIds{0, 1, 2, 3, 4, 5}, DocIds{1}}) {
        const DocSet restricted = DocSetOf(within);
        QueryBench other(kKitchen, kSettings);
        other.SetQuery({"kitchen"});
        for (int typo_class = -1; typo_class < kClasses; ++typo_class) {
          const DocSet all =
              typo_class < 0 ? other.documents().Of(0) : other.documents().Of(0, typo_class);
          EXPECT_EQ(DocIdsOf(documents.Within(0, typo_class, restricted)),
                    DocIdsOf(all & restricted))
              << "class " << typo_class << ", known " << known;
        }
      }
    }
  }
}

TEST(NodeDocuments, AVerbatimStepHasTheWordAsTyped) {
  QueryBench bench(kKitchen, kSettings);
  bench.SetQuery({"kitchen"});
  bench.expansion().Class(0, 0);
  const DocSet all = bench.snapshot().documents;
  EXPECT_EQ(DocIdsOf(bench.documents().Within({0, 0, true}, all)), (DocIds{0, 5}));
  EXPECT_EQ(DocIdsOf(bench.documents().Within({0, 0, false}, all)), (DocIds{0, 3, 5}));
  bench.SetPhrase({"kit", "chen"});
  EXPECT_EQ(DocIdsOf(bench.documents().Within({0, 0, true}, all)), (DocIds{2}));
  bench.SetQuery({"absent"});
  EXPECT_TRUE(bench.documents().Within({0, 0, true}, all).empty());
}

TEST(NodeDocuments, TyposCountInFieldsThatTakeThem) {
  QueryBench bench({R"({"id":0,"title":"kitchens"})", R"({"id":1,"code":"kitchens"})",
                    R"({"id":2,"code":"kitchen"})"},
                   R"({})");
  bench.scope().any_exact = true;
  bench.scope().tolerant = bench.Fields({"title"});
  bench.SetQuery({"kitchen"});
  EXPECT_EQ(DocIdsOf(bench.documents().Of(0, 0)), (DocIds{2}));
  EXPECT_EQ(DocIdsOf(bench.documents().Of(0, 1)), (DocIds{0}));
}

TEST(NodeDocuments, CountInSearchedFieldsOnly) {
  QueryBench bench(kKitchen, kSettings);
  bench.scope().all = false;
  bench.scope().searched = bench.Fields({"body"});
  bench.SetQuery({"kitchen"});
  EXPECT_EQ(bench.documents().DocumentsMin(0), 0u);
  EXPECT_EQ(DocIdsOf(bench.documents().Of(0)), (DocIds{5}));
}

TEST(NodeDocuments, BoundAndFrequency) {
  QueryBench bench(kKitchen, kSettings);
  bench.SetQuery({"kitchen"});
  NodeDocuments& documents = bench.documents();
  EXPECT_LE(documents.DocumentsMin(0), 3u);
  EXPECT_GT(documents.Frequency(0, 0), 0u);
  EXPECT_EQ(documents.Frequency(0, -1),
            documents.Frequency(0, 0) + documents.Frequency(0, 1) + documents.Frequency(0, 2));
  documents.Of(0, 0);
  EXPECT_EQ(documents.DocumentsMin(0), 3u);
}

TEST(NodeDocuments, KeepWhatIsFoundElsewhere) {
  QueryBench bench(kKitchen, kSettings);
  bench.SetPhrase({"kit", "chen"});
  NodeDocuments& documents = bench.documents();
  const DocSet within = DocSetOf({1, 2}), part = DocSetOf({2}), more = DocSetOf({1, 2, 3});
  EXPECT_FALSE(documents.Keeps(0, 0, &within));
  documents.Keep(0, 0, &within, DocSetOf({2}));
  EXPECT_TRUE(documents.Keeps(0, 0, &within));
  EXPECT_TRUE(documents.Keeps(0, 0, &part));
  EXPECT_FALSE(documents.Keeps(0, 0, &more));
  EXPECT_FALSE(documents.Keeps(0, 0, nullptr));
  EXPECT_EQ(DocIdsOf(documents.Within(0, 0, part)), (DocIds{2}));
  documents.Keep(0, 0, nullptr, DocSetOf({2}));
  EXPECT_TRUE(documents.Keeps(0, 0, &more));
  EXPECT_TRUE(documents.Keeps(0, 0, nullptr));
}

}  // namespace
}  // namespace gannet::search
