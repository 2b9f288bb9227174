#include "search/fuse_by_rank.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "search/hybrid.h"
#include "search/first_hits.h"
#include "search/ranking/rules.h"

namespace gannet::search {
namespace {

// Ranked lists of hits, best first.
class RankedLists {
 public:
  RankedLists() {
    const index::Settings settings;
    kVectorRule.add({}, {.settings = settings, .sort = {}}, vectors_);
  }
  void Word(DocId docid) { Add({.rule = &NoRule(), .rank = 1, .max = 2}, docid, words); }
  void Vector(DocId docid, float similarity = 0.5f) {
    Detail detail;
    detail.rule = vectors_[0].get();
    detail.similarity = similarity;
    Add(std::move(detail), docid, semantic);
  }

  std::vector<Hit> words, semantic;

 private:
  void Add(Detail detail, DocId docid, std::vector<Hit>& hits) {
    details_.push_back(std::move(detail));
    hits.push_back({docid, &details_.back()});
  }
  Rules vectors_;
  std::deque<Detail> details_;
};

std::vector<DocId> FusedDocids(const FusedHits& fused) {
  std::vector<DocId> docids;
  for (const Hit& hit : fused.hits) docids.push_back(hit.docid);
  return docids;
}

TEST(FuseByRank, AddsWhatBothListsSay) {
  RankedLists lists;
  for (const DocId docid : {1u, 2u, 3u}) lists.Word(docid);
  for (const DocId docid : {3u, 4u}) lists.Vector(docid);
  const FusedHits fused = FuseByRank(lists.words, lists.semantic, 0.5, 10, nullptr);
  EXPECT_EQ(FusedDocids(fused), (std::vector<DocId>{3, 1, 4, 2}));
  EXPECT_EQ(fused.by_vector, (std::vector<bool>{true, false, true, false}));
  EXPECT_NEAR(ScoreOf(fused.hits[0].detail), 0.5 * 61 / 63 + 0.5, 1e-6);
  EXPECT_NEAR(ScoreOf(fused.hits[1].detail), 0.5, 1e-6);
}

TEST(FuseByRank, GivesTheFirstHitOfBothListsOne) {
  RankedLists lists;
  lists.Word(7);
  lists.Vector(7);
  const FusedHits fused = FuseByRank(lists.words, lists.semantic, 0.3, 10, nullptr);
  EXPECT_NEAR(ScoreOf(fused.hits[0].detail), 1, 1e-6);
}

TEST(FuseByRank, PutsDocumentsWithoutEmbeddingAfterAllOthers) {
  RankedLists lists;
  lists.Word(1);
  lists.Vector(2);
  lists.Vector(3, -1);
  lists.Vector(1, -1);
  const FusedHits fused = FuseByRank(lists.words, lists.semantic, 0.9, 10, nullptr);
  EXPECT_EQ(FusedDocids(fused), (std::vector<DocId>{2, 1, 3}));
  EXPECT_NEAR(ScoreOf(fused.hits[1].detail), 0.1, 1e-6);
  EXPECT_EQ(ScoreOf(fused.hits[2].detail), 0);
}

// The definition, with both lists as a whole.
std::vector<DocId> Plainly(const RankedLists& lists, double ratio) {
  struct Entry {
    double words = 0, semantic = 0, core = 0;
    size_t words_rank = 0, semantic_rank = 0;
  };
  // Ties depend on rounding, so this is the same arithmetic.
  const auto share = [](double weight, size_t i) {
    return weight * 61 / (60 + static_cast<double>(i + 1));
  };
  std::map<DocId, Entry> entries;
  for (size_t i = 0; i < lists.words.size(); ++i) {
    Entry& entry = entries[lists.words[i].docid];
    entry.words = share(1 - ratio, i);
    entry.words_rank = i + 1;
    if (i < 200) entry.core += entry.words;
  }
  for (size_t i = 0; i < lists.semantic.size(); ++i) {
    Entry& entry = entries[lists.semantic[i].docid];
    entry.semantic_rank = i + 1;
    if (lists.semantic[i].detail->similarity < 0) continue;
    entry.semantic = share(ratio, i);
    if (i < 200) entry.core += entry.semantic;
  }
  std::vector<DocId> order;
  for (const auto& [docid, entry] : entries) order.push_back(docid);
  const auto score = [&](DocId docid) {
    const Entry& entry = entries[docid];
    return std::max({entry.core, entry.words, entry.semantic});
  };
  std::stable_sort(order.begin(), order.end(), [&](DocId a, DocId b) {
    const double left = score(a), right = score(b);
    if (left != right) return left > right;
    const auto by_vector = [&](DocId docid) {
      return entries[docid].semantic_rank > 0 && entries[docid].semantic >= entries[docid].words;
    };
    if (by_vector(a) != by_vector(b)) return by_vector(a);
    const auto rank = [&](DocId docid) {
      return by_vector(docid) ? entries[docid].semantic_rank : entries[docid].words_rank;
    };
    return rank(a) < rank(b);
  });
  return order;
}

TEST(FuseByRank, HasTheSameListForEachPage) {
  const char* given = std::getenv("GANNET_SEED");
  const auto seed = given == nullptr ? 7u : static_cast<uint32_t>(std::strtoul(given, nullptr, 10));
  SCOPED_TRACE("GANNET_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  for (int round = 0; round < 60; ++round) {
    RankedLists lists;
    std::vector<DocId> docids(100 + random() % 700);
    for (size_t i = 0; i < docids.size(); ++i) docids[i] = static_cast<DocId>(i);
    std::shuffle(docids.begin(), docids.end(), random);
    const size_t matched = random() % (docids.size() + 1);
    for (size_t i = 0; i < matched; ++i) lists.Word(docids[i]);
    std::shuffle(docids.begin(), docids.end(), random);
    const size_t embedded = random() % (docids.size() + 1);
    for (size_t i = 0; i < docids.size(); ++i) lists.Vector(docids[i], i < embedded ? 0.5f : -1);
    const double ratio = static_cast<double>(1 + random() % 9) / 10;
    const std::vector<DocId> whole = Plainly(lists, ratio);
    for (int page = 0; page < 8; ++page) {
      const uint64_t end = 1 + random() % (docids.size() + 10), depth = FusedDepth(end);
      const FusedHits fused = FuseByRank(FirstOf(lists.words, depth),
                                         FirstOf(lists.semantic, depth), ratio, end, nullptr);
      const std::vector<DocId> expected(
          whole.begin(), whole.begin() + static_cast<ptrdiff_t>(std::min(end, whole.size())));
      ASSERT_EQ(FusedDocids(fused), expected) << "end " << end << ", ratio " << ratio;
    }
  }
}

}  // namespace
}  // namespace gannet::search
