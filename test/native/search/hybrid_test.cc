#include "search/hybrid.h"

#include <gtest/gtest.h>

#include <deque>
#include <utility>
#include <vector>

#include "index/indexed_documents.h"
#include "search/ranking/rules.h"

namespace gannet::search {
namespace {

// Ranked lists written by hand.
class Lists {
 public:
  // Hits by words: a rank out of ten for each.
  void Word(DocId docid, uint32_t rank) {
    Detail detail{};
    detail.rule = &NoRule();
    detail.rank = rank;
    detail.max = 10;
    Add(std::move(detail), docid, words);
  }
  // Hits by vectors: a similarity for each; negative: no embedding.
  void Vector(DocId docid, float similarity) {
    Detail detail{};
    detail.rule = vectors_[0].get();
    detail.similarity = similarity;
    Add(std::move(detail), docid, semantic);
  }

  std::vector<Hit> words, semantic;

  Lists() {
    const index::Settings settings;
    kVectorRule.add({}, {.settings = settings, .sort = {}}, vectors_);
  }

 private:
  void Add(Detail detail, DocId docid, std::vector<Hit>& hits) {
    details_.push_back(std::move(detail));
    hits.push_back({docid, &details_.back()});
  }
  Rules vectors_;
  std::deque<Detail> details_;
};

using Docids = std::vector<DocId>;

Docids DocidsOf(const std::vector<Hit>& hits) {
  Docids docids;
  for (const Hit& hit : hits) docids.push_back(hit.docid);
  return docids;
}

TEST(MergeHits, OrdersByWeightedScores) {
  Lists lists;
  lists.Word(1, 10);
  lists.Word(2, 6);
  lists.Word(3, 2);
  lists.Vector(11, 0.9f);
  lists.Vector(12, 0.5f);
  const auto even = MergeHits(lists.words, lists.semantic, 0.5, 10, nullptr);
  EXPECT_EQ(DocidsOf(even.hits), (Docids{1, 11, 2, 12, 3}));
  EXPECT_EQ(even.by_vector, (std::vector<bool>{false, true, false, true, false}));
  const auto words = MergeHits(lists.words, lists.semantic, 0.1, 10, nullptr);
  EXPECT_EQ(DocidsOf(words.hits), (Docids{1, 2, 3, 11, 12}));
  const auto vectors = MergeHits(lists.words, lists.semantic, 0.9, 10, nullptr);
  EXPECT_EQ(DocidsOf(vectors.hits), (Docids{11, 12, 1, 2, 3}));
}

TEST(MergeHits, PutsTheVectorFirstForEqualScores) {
  Lists lists;
  lists.Word(1, 5);
  lists.Vector(11, 0.5f);
  EXPECT_EQ(DocidsOf(MergeHits(lists.words, lists.semantic, 0.5, 10, nullptr).hits),
            (Docids{11, 1}));
}

TEST(MergeHits, KeepsTheFirstOccurrenceOfADocument) {
  Lists lists;
  lists.Word(1, 10);
  lists.Word(2, 4);
  lists.Vector(2, 0.8f);
  lists.Vector(1, 0.3f);
  const auto merged = MergeHits(lists.words, lists.semantic, 0.5, 10, nullptr);
  EXPECT_EQ(DocidsOf(merged.hits), (Docids{1, 2}));
  EXPECT_EQ(merged.hits[1].detail, lists.semantic[0].detail);
  EXPECT_EQ(merged.by_vector, (std::vector<bool>{false, true}));
}

TEST(MergeHits, StopsAtAsManyAsAreWantedAndTakesWhatOneListHas) {
  Lists lists;
  for (DocId docid = 0; docid < 4; ++docid) lists.Word(docid, 10 - docid);
  EXPECT_EQ(MergeHits(lists.words, {}, 0.5, 3, nullptr).hits.size(), 3u);
  EXPECT_EQ(MergeHits(lists.words, {}, 0.5, 9, nullptr).hits.size(), 4u);
  EXPECT_TRUE(MergeHits(lists.words, {}, 0.5, 0, nullptr).hits.empty());
  EXPECT_TRUE(MergeHits({}, {}, 0.5, 5, nullptr).hits.empty());
}

TEST(MergeHits, KeepsOneDocumentPerValueOfBothLists) {
  IndexedDocuments index(R"({"filterableAttributes":["n"]})");
  index.Put({{1, R"({"n":1})"}, {2, R"({"n":2})"}, {3, R"({"n":1})"}, {4, R"({"m":0})"}});
  const auto snapshot = index.snapshot();
  const Distinct distinct(*snapshot, "n");
  Lists lists;
  lists.Word(1, 10);
  lists.Word(2, 3);
  lists.Vector(3, 0.9f);
  lists.Vector(4, 0.8f);
  const auto merged = MergeHits(lists.words, lists.semantic, 0.5, 10, &distinct);
  EXPECT_EQ(DocidsOf(merged.hits), (Docids{1, 4, 2}));
  EXPECT_TRUE(merged.excluded.Contains(3));
  EXPECT_FALSE(merged.excluded.Contains(1));
}

TEST(WordsAreEnough, IfAllHitsOfAFullPageAreGood) {
  Lists lists;
  lists.Word(1, 10);
  lists.Word(2, 9);
  EXPECT_TRUE(WordsAreEnough(lists.words, 0.5, 2));
  EXPECT_FALSE(WordsAreEnough(lists.words, 0.5, 3)) << "too few";
  EXPECT_FALSE(WordsAreEnough(lists.words, 0.6, 2)) << "words weigh too little";
  lists.Word(3, 5);
  EXPECT_FALSE(WordsAreEnough(lists.words, 0.5, 3)) << "a hit that is not good";
  EXPECT_TRUE(WordsAreEnough(lists.words, 0.5, 2)) << "a hit after the first page";
  EXPECT_TRUE(WordsAreEnough({}, 0.5, 0));
}

TEST(HalvesOf, AreSeparateSearches) {
  SearchRequest request;
  request.q = "red";
  request.hybrid = Hybrid{"e", 0.3, std::nullopt};
  request.vector = std::vector<float>{1, 2};
  request.facets = {"*"};
  request.needs_candidates = false;
  const auto settings = index::Settings::FromJson(json::Value::Parse("{}"));
  const HybridHalves halves = HalvesOf(request, settings);
  EXPECT_EQ(halves.words.kind(), SearchKind::kWords);
  EXPECT_FALSE(halves.words.vector.has_value());
  EXPECT_FALSE(halves.words.needs_candidates);
  EXPECT_FALSE(halves.words.exhaustive);
  EXPECT_EQ(halves.semantic.kind(), SearchKind::kSemantic);
  EXPECT_EQ(halves.semantic.vector, request.vector);
  EXPECT_TRUE(halves.semantic.needs_candidates);
  EXPECT_TRUE(halves.semantic.facets.empty());
  EXPECT_TRUE(halves.words.half && halves.semantic.half);

  request.page = 2;
  const HybridHalves paged = HalvesOf(request, settings);
  EXPECT_TRUE(paged.words.exhaustive && paged.semantic.exhaustive);
  EXPECT_FALSE(paged.words.paged() || paged.semantic.paged());
}

}  // namespace
}  // namespace gannet::search
