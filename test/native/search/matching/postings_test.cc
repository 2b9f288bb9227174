#include "search/matching/postings.h"

#include <gtest/gtest.h>

#include "search/query/query_bench.h"

namespace gannet::search {
namespace {

// Two segments; document 2 is dead.
QueryBench& Sea(QueryBench& bench) {
  bench.Put({R"({"id":0,"title":"deep sea","body":"a sea of words"})",
             R"({"id":1,"title":"deep","body":"sea"})", R"({"id":2,"title":"deep sea"})"});
  bench.Put({R"({"id":3,"title":"sea"})", R"({"id":4,"title":"land","body":"deep"})"});
  bench.Delete({2});
  return bench;
}

TEST(Postings, WordDocumentsAreLiveAndRestrictedToFieldsAndDocuments) {
  QueryBench bench;
  const Postings& postings = Sea(bench).postings();
  const WordNumber sea = bench.Word("sea");
  EXPECT_EQ(DocIdsOf(postings.WordDocuments(sea, nullptr)), (DocIds{0, 1, 3}));
  const segment::FieldSet title = bench.Fields({"title"});
  EXPECT_EQ(DocIdsOf(postings.WordDocuments(sea, &title)), (DocIds{0, 3}));
  const DocSet within = DocSetOf({1, 2, 3, 4});
  EXPECT_EQ(DocIdsOf(postings.WordDocuments(sea, nullptr, &within)), (DocIds{1, 3}));
  EXPECT_EQ(DocIdsOf(postings.WordDocuments(sea, &title, &within)), (DocIds{3}));
  const DocSet none;
  EXPECT_TRUE(postings.WordDocuments(sea, nullptr, &none).empty());
}

TEST(Postings, AllWordsAndAnyWord) {
  QueryBench bench;
  const Postings& postings = Sea(bench).postings();
  const WordNumber sea = bench.Word("sea"), deep = bench.Word("deep"), land = bench.Word("land");
  EXPECT_EQ(DocIdsOf(postings.AllWords({sea, deep}, nullptr, nullptr)), (DocIds{0, 1}));
  const segment::FieldSet title = bench.Fields({"title"});
  EXPECT_EQ(DocIdsOf(postings.AllWords({sea, deep}, &title, nullptr)), (DocIds{0}));
  const DocSet within = DocSetOf({1, 4});
  EXPECT_EQ(DocIdsOf(postings.AllWords({deep}, nullptr, &within)), (DocIds{1, 4}));
  WordsBySegment words(bench.snapshot().segments.size());
  for (size_t s = 0; s < words.size(); ++s) {
    for (const WordNumber word : {sea, land}) {
      if (const Ordinal ordinal = bench.words().OrdinalOf(word, s); ordinal != kNoOrdinal)
        words[s].emplace_back(ordinal, ordinal + 1);
    }
    segment::Unite(words[s]);
  }
  EXPECT_EQ(DocIdsOf(postings.AnyWord(words, nullptr, nullptr)), (DocIds{0, 1, 3, 4}));
  EXPECT_EQ(DocIdsOf(postings.AnyWord(words, &title, nullptr)), (DocIds{0, 3, 4}));
  EXPECT_EQ(DocIdsOf(postings.AnyWord(words, &title, &within)), (DocIds{4}));
}

// For few documents records are read; for all, lists are joined.
TEST(Postings, ManyWordsMatchAlikeByListsAndByRecords) {
  std::vector<std::string> documents;
  for (int n = 0; n < 600; ++n)
    documents.push_back(R"({"id":0,"title":"word)" + std::to_string(n) + R"(","body":"rest"})");
  QueryBench bench(documents);
  const segment::WordRange range = bench.snapshot().segments[0]->text->terms().PrefixRange("word");
  ASSERT_EQ(range.second - range.first, 600u);
  const WordsBySegment words{{range}};
  const segment::FieldSet title = bench.Fields({"title"}), body = bench.Fields({"body"});
  const DocSet few = DocSetOf({3, 599});
  const Postings& postings = bench.postings();
  EXPECT_EQ(postings.AnyWord(words, nullptr, nullptr).size(), 600u);
  EXPECT_EQ(DocIdsOf(postings.AnyWord(words, nullptr, &few)), (DocIds{3, 599}));
  EXPECT_EQ(DocIdsOf(postings.AnyWord(words, &title, &few)), (DocIds{3, 599}));
  EXPECT_TRUE(postings.AnyWord(words, &body, &few).empty());
}

TEST(Postings, WordAtPositionsOfAnyField) {
  QueryBench bench({R"({"id":0,"title":"deep sea"})", R"({"id":1,"title":"sea"})",
                    R"({"id":2,"title":"the old sea","body":"sea"})"});
  const WordNumber sea = bench.Word("sea");
  EXPECT_EQ(DocIdsOf(bench.postings().WordAtPositions(sea, 1u << 0, nullptr)), (DocIds{1, 2}));
  EXPECT_EQ(DocIdsOf(bench.postings().WordAtPositions(sea, 1u << 1 | 1u << 2, nullptr)),
            (DocIds{0, 2}));
  const DocSet within = DocSetOf({0, 1});
  EXPECT_EQ(DocIdsOf(bench.postings().WordAtPositions(sea, 1u << 0, &within)), (DocIds{1}));
}

TEST(Postings, WordsTogetherAreInOneSearchedField) {
  QueryBench bench({R"({"id":0,"title":"deep sea"})", R"({"id":1,"title":"deep","body":"sea"})",
                    R"({"id":2,"title":"x","body":"sea so deep"})"});
  const std::vector<WordNumber> words{bench.Word("deep"), bench.Word("sea")};
  EXPECT_EQ(DocIdsOf(bench.postings().WordsTogether(words, 0, nullptr)), (DocIds{0, 2}));
  EXPECT_EQ(DocIdsOf(bench.postings().WordsTogether(words, 2, nullptr)), (DocIds{0}));
  bench.scope().all = false;
  bench.scope().searched = bench.Fields({"body"});
  EXPECT_EQ(DocIdsOf(bench.postings().WordsTogether(words, 0, nullptr)), (DocIds{2}));
}

TEST(Postings, BoundsHoldTheDocumentsOfAWord) {
  QueryBench bench;
  const Postings& postings = Sea(bench).postings();
  for (const char* text : {"sea", "deep", "land", "words"}) {
    const WordNumber word = bench.Word(text);
    const uint64_t count = postings.WordDocuments(word, nullptr).size();
    EXPECT_LE(postings.DocumentsMin(word), count) << text;
    EXPECT_GE(postings.DocumentsMax(word), count) << text;
    EXPECT_GT(postings.Frequency(word), 0u) << text;
  }
  EXPECT_GE(postings.CommonMax(bench.Word("sea"), bench.Word("deep")), 2u);
  EXPECT_EQ(postings.CommonMax(bench.Word("words"), bench.Word("land")), 0u);
}

TEST(Postings, AdjacencyOfFrequentWordsIsListed) {
  QueryBench bench({R"({"id":0,"title":"deep sea"})", R"({"id":1,"title":"deep sea of glass"})"});
  EXPECT_TRUE(bench.postings().ListsAdjacency(bench.Word("deep"), bench.Word("sea")));
  EXPECT_FALSE(bench.postings().ListsAdjacency(bench.Word("deep"), bench.Word("glass")));
}

}  // namespace
}  // namespace gannet::search
