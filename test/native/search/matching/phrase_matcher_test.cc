#include "search/matching/phrase_matcher.h"

#include <gtest/gtest.h>

#include "search/query/query_bench.h"

namespace gannet::search {
namespace {

// `deep` and `sea` are frequent, the others are not.
const std::vector<std::string> kSea = {
    R"({"id":0,"title":"the deep sea"})",    R"({"id":1,"title":"sea deep"})",
    R"({"id":2,"title":"deep blue sea"})",   R"({"id":3,"title":"deep","body":"sea"})",
    R"({"id":4,"title":"glass bead game"})", R"({"id":5,"title":"game of glass bead"})"};

DocIds Documents(QueryBench& bench, const std::vector<std::string>& texts,
                 const segment::FieldSet* fields = nullptr, const DocSet* within = nullptr) {
  return DocIdsOf(bench.phrases().Documents(bench.PhraseOf(texts), fields, within));
}

TEST(PhraseMatcher, WordsAreInOrderAndAdjacent) {
  QueryBench bench(kSea);
  EXPECT_EQ(Documents(bench, {"deep", "sea"}), (DocIds{0}));
  EXPECT_EQ(Documents(bench, {"sea", "deep"}), (DocIds{1}));
  EXPECT_EQ(Documents(bench, {"deep", "blue", "sea"}), (DocIds{2}));
  EXPECT_EQ(Documents(bench, {"glass", "bead"}), (DocIds{4, 5}));
  EXPECT_EQ(Documents(bench, {"glass", "bead", "game"}), (DocIds{4}));
  EXPECT_EQ(Documents(bench, {"blue"}), (DocIds{2}));
}

// A stop word may be any word, or none.
TEST(PhraseMatcher, StopWordLeavesAGap) {
  QueryBench bench(kSea);
  EXPECT_EQ(Documents(bench, {"deep", "", "sea"}), (DocIds{0, 2}));
  EXPECT_EQ(Documents(bench, {"", "blue"}), (DocIds{2}));
  EXPECT_TRUE(Documents(bench, {"", ""}).empty());
}

TEST(PhraseMatcher, WordsCountInFieldsAndAmongDocuments) {
  QueryBench bench({R"({"id":0,"title":"deep sea"})", R"({"id":1,"body":"deep sea"})",
                    R"({"id":2,"title":"deep sea","body":"x"})"});
  const segment::FieldSet title = bench.Fields({"title"});
  EXPECT_EQ(Documents(bench, {"deep", "sea"}, &title), (DocIds{0, 2}));
  const DocSet within = DocSetOf({1, 2});
  EXPECT_EQ(Documents(bench, {"deep", "sea"}, nullptr, &within), (DocIds{1, 2}));
  EXPECT_EQ(Documents(bench, {"deep", "sea"}, &title, &within), (DocIds{2}));
}

TEST(PhraseMatcher, ListsVerifyFrequentWordsAndLeaveOthersToReading) {
  QueryBench bench(kSea);
  PhraseMatcher& phrases = bench.phrases();
  const PhraseMatches frequent = phrases.ByLists(bench.PhraseOf({"deep", "sea"}), nullptr, nullptr);
  EXPECT_EQ(DocIdsOf(frequent.verified), (DocIds{0}));
  EXPECT_TRUE(frequent.approximate.empty());
  const Phrase rare = bench.PhraseOf({"blue", "sea"});
  const PhraseMatches matches = phrases.ByLists(rare, nullptr, nullptr);
  EXPECT_TRUE(matches.verified.empty());
  EXPECT_EQ(DocIdsOf(matches.approximate), (DocIds{2}));
  EXPECT_EQ(DocIdsOf(phrases.VerifyApproximate(rare, nullptr, nullptr, matches)), (DocIds{2}));
  const Phrase apart = bench.PhraseOf({"deep", "blue"});
  EXPECT_EQ(DocIdsOf(phrases.Read(apart, DocSetOf({2}))), (DocIds{2}));
  EXPECT_TRUE(phrases.Read(bench.PhraseOf({"blue", "deep"}), DocSetOf({2})).empty());
}

TEST(PhraseMatcher, EnoughDocumentsAreAnyOfThem) {
  std::vector<std::string> documents;
  for (int n = 0; n < 300; ++n)
    documents.push_back(n % 3 == 0 ? R"({"id":0,"title":"left right"})"
                                   : R"({"id":0,"title":"right left"})");
  QueryBench bench;
  // No word is frequent.
  Tuning tuning = Tuned();
  tuning.frequent_documents_min = 1000;
  SetTuning(tuning);
  bench.Put(documents);
  const Phrase phrase = bench.PhraseOf({"left", "right"});
  const DocSet some = bench.phrases().Documents(phrase, nullptr, nullptr, 5);
  const DocSet all = bench.phrases().Documents(phrase, nullptr);
  EXPECT_EQ(all.size(), 100u);
  EXPECT_GE(some.size(), 5u);
  EXPECT_TRUE(some.IsSubsetOf(all));
  EXPECT_EQ(bench.phrases().Documents(phrase, nullptr, nullptr, 1000).size(), 100u);
  EXPECT_GE(bench.phrases().DocumentsMax(phrase), 100u);
}

// Once all documents of two words were read, lists give the matches.
TEST(PhraseMatcher, TwoWordsAreReadOnce) {
  QueryBench bench;
  Tuning tuning = Tuned();
  tuning.frequent_documents_min = 1000;
  tuning.large_bucket_min = 1;
  SetTuning(tuning);
  bench.Put(kSea);
  const Phrase phrase = bench.PhraseOf({"deep", "sea"});
  EXPECT_EQ(DocIdsOf(bench.phrases().ByLists(phrase, nullptr, nullptr).approximate),
            (DocIds{0, 1, 2, 3}));
  EXPECT_EQ(DocIdsOf(bench.phrases().Documents(phrase, nullptr)), (DocIds{0}));
  const PhraseMatches again = bench.phrases().ByLists(phrase, nullptr, nullptr);
  EXPECT_EQ(DocIdsOf(again.verified), (DocIds{0}));
  EXPECT_TRUE(again.approximate.empty());
}

TEST(PhraseMatcher, ByAttributeWordsAreInOneField) {
  QueryBench bench(kSea, R"({"proximityPrecision":"byAttribute"})");
  EXPECT_EQ(Documents(bench, {"deep", "sea"}), (DocIds{0, 1, 2}));
  EXPECT_EQ(Documents(bench, {"game", "glass", "bead"}), (DocIds{4, 5}));
}

TEST(PhraseMatcher, DeadDocumentsDoNotMatch) {
  QueryBench bench(kSea);
  bench.Put({R"({"id":6,"title":"deep sea"})"});
  bench.Delete({0, 4});
  EXPECT_EQ(Documents(bench, {"deep", "sea"}), (DocIds{6}));
  EXPECT_EQ(Documents(bench, {"glass", "bead"}), (DocIds{5}));
}

TEST(PhraseMatcher, MatchingWithinContainsTheMatchingDocuments) {
  QueryBench bench(kSea);
  const Phrase two = bench.PhraseOf({"glass", "bead"});
  const Phrase three = bench.PhraseOf({"glass", "bead", "game"});
  for (const Phrase* phrase : {&two, &three}) {
    for (const DocIds& within : {DocIds{4}, DocIds{4, 5}, DocIds{0, 4, 5}}) {
      const DocSet documents = DocSetOf(within);
      const DocSet expected = bench.phrases().Documents(*phrase, nullptr, &documents);
      EXPECT_EQ(DocIdsOf(bench.phrases().MatchingWithin(*phrase, documents) & documents),
                DocIdsOf(expected));
    }
  }
}

}  // namespace
}  // namespace gannet::search
