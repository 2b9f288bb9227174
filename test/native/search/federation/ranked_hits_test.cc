#include "search/federation/ranked_hits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>
#include <vector>

#include "test_seed.h"

namespace gannet::search {
namespace {

// The hits of one query: a rank out of twelve for each, best first.
class List {
 public:
  void Add(DocId docid, uint32_t rank) {
    // The hits of a bucket share their details.
    if (details_.empty() || details_.back().rank != rank) {
      Detail detail{};
      detail.rule = &NoRule();
      detail.rank = rank;
      detail.max = 12;
      details_.push_back(detail);
    }
    hits_.push_back({docid, &details_.back()});
  }
  const std::vector<Hit>& hits() const { return hits_; }

 private:
  std::deque<Detail> details_;
  std::vector<Hit> hits_;
};

struct Found {
  uint32_t query;
  DocId docid;
  friend bool operator==(const Found&, const Found&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Found& found) {
    return out << found.query << ":" << found.docid;
  }
};

template <typename Source>
std::vector<Found> AllOf(Source& source) {
  std::vector<Found> list;
  while (const auto hit = source.Next()) list.push_back({hit->query, hit->hit.docid});
  return list;
}

TEST(QueryHits, TellWhatAHitIsComparedBy) {
  List list;
  list.Add(7, 12);
  list.Add(8, 12);
  list.Add(9, 6);
  QueryHits hits(list.hits(), 0.5, 3);
  const auto first = hits.Next(), second = hits.Next(), third = hits.Next();
  EXPECT_EQ(first->query, 3u);
  EXPECT_EQ(first->pin, nullptr);
  EXPECT_DOUBLE_EQ(first->key->global, 0.5);
  EXPECT_EQ(second->key, first->key) << "hits of a bucket share it";
  EXPECT_DOUBLE_EQ(third->key->global, 0.25);
  EXPECT_FALSE(hits.Next().has_value());
}

TEST(IndexHits, ReturnADocumentOfSeveralQueriesOnce) {
  List a, b;
  a.Add(1, 12);
  a.Add(2, 3);
  b.Add(2, 9);
  b.Add(1, 6);
  IndexHits hits;
  hits.Add(QueryHits(a.hits(), 1, 0));
  hits.Add(QueryHits(b.hits(), 1, 1));
  EXPECT_EQ(AllOf(hits), (std::vector<Found>{{0, 1}, {1, 2}}));
}

TEST(Merged, PutsEqualHitsOfTheFirstQueryFirst) {
  List a, b;
  a.Add(1, 6);
  b.Add(2, 6);
  Merged<QueryHits> merged;
  merged.Add(QueryHits(b.hits(), 1, 1));
  merged.Add(QueryHits(a.hits(), 1, 0));
  EXPECT_EQ(AllOf(merged), (std::vector<Found>{{0, 1}, {1, 2}}));
}

// The same by sorting all hits.
TEST(Merged, EqualsAStableSort) {
  std::mt19937_64 random(TestSeed());
  for (int i = 0; i < 300; ++i) {
    struct Item {
      Found found;
      double score;
    };
    std::deque<List> lists(1 + random() % 6);
    std::vector<Item> all;
    Merged<QueryHits> merged;
    for (uint32_t query = 0; query < lists.size(); ++query) {
      // Powers of two, so that products are exact.
      const double weight = random() % 2 == 0 ? 1 : 0.5;
      uint32_t rank = 12;
      for (uint64_t n = random() % 12; n > 0 && rank > 0; --n) {
        const auto docid = static_cast<DocId>(random() % 1000);
        lists[query].Add(docid, rank);
        all.push_back({{query, docid}, rank / 12.0 * weight});
        rank -= std::min<uint32_t>(rank, static_cast<uint32_t>(random() % 3));
      }
      merged.Add(QueryHits(lists[query].hits(), weight, query));
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Item& a, const Item& b) { return a.score > b.score; });
    std::vector<Found> expected;
    for (const Item& item : all) expected.push_back(item.found);
    ASSERT_EQ(AllOf(merged), expected);
  }
}

}  // namespace
}  // namespace gannet::search
