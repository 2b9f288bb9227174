#include "search/matching/index_words.h"

#include <gtest/gtest.h>

#include "search/query/query_bench.h"

namespace gannet::search {
namespace {

TEST(IndexWords, HaveOneNumberAndAnOrdinalPerSegment) {
  QueryBench bench({R"({"id":0,"title":"deep sea"})"});
  bench.Put({R"({"id":1,"title":"sea"})"});
  IndexWords& words = bench.words();
  const WordNumber sea = words.Find("sea"), deep = words.Find("deep");
  ASSERT_NE(sea, kNoWord);
  EXPECT_EQ(words.Find("sea"), sea);
  EXPECT_NE(deep, sea);
  EXPECT_EQ(words[deep].text, "deep");
  EXPECT_NE(words.OrdinalOf(sea, 0), kNoOrdinal);
  EXPECT_NE(words.OrdinalOf(sea, 1), kNoOrdinal);
  EXPECT_NE(words.OrdinalOf(deep, 0), kNoOrdinal);
  EXPECT_EQ(words.OrdinalOf(deep, 1), kNoOrdinal);
  EXPECT_EQ(words.OrdinalOf(kNoWord, 0), kNoOrdinal);
  EXPECT_EQ(words.Find("land"), kNoWord);
  EXPECT_EQ(words.Find(""), kNoWord);
  EXPECT_EQ(words.Find(std::string(kWordBytesMax + 1, 'a')), kNoWord);
}

TEST(IndexWords, WordsOfDeadDocumentsOnlyAreNotFound) {
  QueryBench bench({R"({"id":0,"title":"deep"})", R"({"id":1,"title":"sea"})"});
  bench.Put({R"({"id":2,"title":"deep sea"})", R"({"id":3,"title":"land"})"});
  bench.Delete({0, 2});
  EXPECT_EQ(bench.words().Find("deep"), kNoWord);
  const WordNumber sea = bench.words().Find("sea");
  ASSERT_NE(sea, kNoWord);
  EXPECT_NE(bench.words().OrdinalOf(sea, 0), kNoOrdinal);
  EXPECT_EQ(bench.words().OrdinalOf(sea, 1), kNoOrdinal);
}

TEST(IndexWords, AddGivesAKnownWordItsNumber) {
  QueryBench bench({R"({"id":0,"title":"deep sea"})"});
  IndexWords& words = bench.words();
  const WordNumber sea = words.Find("sea");
  EXPECT_EQ(words.Add("sea", words[sea].ordinals), sea);
  const WordNumber other = words.Add("other", {7});
  EXPECT_EQ(words.Find("other"), other);
  EXPECT_EQ(words.OrdinalOf(other, 0), 7u);
}

TEST(IndexWords, PhraseNeedsAllItsWords) {
  QueryBench bench({R"({"id":0,"title":"deep the sea"})"});
  IndexWords& words = bench.words();
  const auto phrase = words.FindPhrase({std::nullopt, "deep", std::nullopt, "sea"});
  ASSERT_TRUE(phrase);
  EXPECT_EQ(phrase->words, (std::vector{kNoWord, words.Find("deep"), kNoWord, words.Find("sea")}));
  EXPECT_EQ(phrase->FirstReal(), words.Find("deep"));
  EXPECT_EQ((Phrase{{kNoWord}}).FirstReal(), kNoWord);
  EXPECT_FALSE(words.FindPhrase({"deep", "land"}));
}

TEST(IndexWords, TolerateByNumberAndByField) {
  QueryBench bench({R"({"id":0,"title":"deep","code":"sea 2024"})"});
  bench.scope().exact_numbers = true;
  bench.scope().index_exact = true;
  bench.scope().index_tolerant = bench.Fields({"title"});
  bench.SetQuery({});
  EXPECT_FALSE(bench.words()[bench.Word("2024")].tolerant);
  EXPECT_TRUE(bench.words()[bench.Word("sea")].tolerant);
  EXPECT_TRUE(bench.words().Tolerates(bench.Word("deep")));
  EXPECT_FALSE(bench.words().Tolerates(bench.Word("sea")));
  EXPECT_FALSE(bench.words().Tolerates(bench.Word("2024")));
}

}  // namespace
}  // namespace gannet::search
