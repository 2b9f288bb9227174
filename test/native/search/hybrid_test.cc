#include "search/hybrid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "index/indexed_documents.h"
#include "search/first_hits.h"
#include "search/ranking/rules.h"
#include "search/ranking/score_details.h"
#include "test_seed.h"

namespace gannet::search {
namespace {

// Ranked lists written by hand.
class Lists {
 public:
  // Hits by words: a rank for each.
  void Word(DocId docid, uint32_t rank, uint32_t max = 10) {
    Detail detail{};
    detail.rule = &NoRule();
    detail.rank = rank;
    detail.max = max;
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

// Merges lists as the definition says: by weighted score, one document per value.
Docids MergedByDefinition(const Lists& lists, double ratio,
                          const std::vector<std::set<int>>& values) {
  struct Entry {
    double score;
    bool by_words;
    size_t rank;
    DocId docid;
  };
  std::vector<Entry> entries;
  for (size_t i = 0; i < lists.words.size(); ++i)
    entries.push_back(
        {ScoreOf(lists.words[i].detail) * (1 - ratio), true, i, lists.words[i].docid});
  for (size_t i = 0; i < lists.semantic.size(); ++i) {
    const double similarity = static_cast<double>(lists.semantic[i].detail->similarity);
    entries.push_back({similarity * ratio, false, i, lists.semantic[i].docid});
  }
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::tuple(-a.score, a.by_words, a.rank) < std::tuple(-b.score, b.by_words, b.rank);
  });
  Docids kept;
  std::set<DocId> seen;
  std::set<int> taken;
  for (const Entry& entry : entries) {
    if (!seen.insert(entry.docid).second) continue;
    const auto& own = values[entry.docid - 1];
    if (std::any_of(own.begin(), own.end(), [&](int value) { return taken.contains(value); }))
      continue;
    taken.insert(own.begin(), own.end());
    kept.push_back(entry.docid);
  }
  return kept;
}

TEST(MergeHits, IsPrefixOfTheWholeListAtEveryDepth) {
  std::mt19937 random(TestSeed());
  const auto number = [&](size_t end) { return static_cast<int>(random() % end); };
  constexpr DocId kDocuments = 24;
  for (int round = 0; round < 60; ++round) {
    std::vector<std::set<int>> values(kDocuments);
    std::map<DocId, std::string> documents;
    for (DocId docid = 1; docid <= kDocuments; ++docid) {
      std::set<int>& own = values[docid - 1];
      for (int n = number(4); n > 0; --n) own.insert(number(20));
      std::string list;
      for (const int value : own) list += (list.empty() ? "" : ",") + std::to_string(value);
      documents.emplace(docid, R"({"n":[)" + list + "]}");
    }
    IndexedDocuments index(R"({"filterableAttributes":["n"]})");
    index.Put(documents);
    const auto snapshot = index.snapshot();
    const Distinct distinct(*snapshot, "n");
    Lists lists;
    for (const bool by_words : {true, false}) {
      Docids docids(kDocuments);
      std::iota(docids.begin(), docids.end(), 1);
      std::shuffle(docids.begin(), docids.end(), random);
      docids.resize(random() % (kDocuments + 1));
      for (size_t i = 0; i < docids.size(); ++i) {
        // A rank for each hit: the sort of equal ones is not what is tested.
        if (by_words) {
          lists.Word(docids[i], 10 * kDocuments - static_cast<uint32_t>(10 * i), 10 * kDocuments);
        } else {
          lists.Vector(docids[i], 0.99f - 0.03f * static_cast<float>(i));
        }
      }
    }
    const double ratio = 0.1 + 0.2 * number(5);
    const Docids whole = MergedByDefinition(lists, ratio, values);
    for (size_t depth = 1; depth <= kDocuments + 1; ++depth) {
      const std::vector<Hit> words = FirstOf(lists.words, depth);
      const std::vector<Hit> semantic = FirstOf(lists.semantic, depth);
      const MergedHits merged =
          MergeHits(words, semantic, ratio, {depth, kDocuments, depth}, &distinct);
      ASSERT_LE(merged.kept.size(), whole.size());
      EXPECT_EQ(merged.kept,
                Docids(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(merged.kept.size())));
      if (!merged.cut) EXPECT_EQ(merged.kept, whole) << "depth " << depth;
      if (depth > kDocuments) EXPECT_FALSE(merged.cut);
      EXPECT_EQ(merged.hits.size(), std::min(depth, merged.kept.size()));
    }
  }
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

  request.page = PageMembers::Numbered(2, 20);
  const HybridHalves paged = HalvesOf(request, settings);
  EXPECT_TRUE(paged.words.exhaustive && paged.semantic.exhaustive);
  EXPECT_FALSE(paged.words.page.numbered || paged.semantic.page.numbered);
}

}  // namespace
}  // namespace gannet::search
