// The best documents that a scan of blocks reads, against reading all of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <queue>
#include <random>
#include <vector>

#include "comparisons.h"
#include "search/natural/block_scan.h"

namespace gannet::search {
namespace {

using Random = std::mt19937_64;

struct Lists {
  std::vector<BoundedList> lists;
  std::map<DocId, double> worth;  // at most the sum of the bounds
};

Lists RandomLists(Random& random) {
  std::uniform_real_distribution<double> share(0, 1);
  Lists made;
  std::map<DocId, double> bounds;
  const uint32_t span = random() % 2 == 0 ? 3000 : 300'000;
  for (uint64_t n = 1 + random() % 8; n > 0; --n) {
    BoundedList list;
    list.bound = 0.1 + 10 * share(random) * share(random);
    for (uint64_t i = random() % 2000; i > 0; --i) {
      const auto docid = static_cast<DocId>(random() % span);
      if (list.documents.Contains(docid)) continue;
      list.documents.Add(docid);
      bounds[docid] += list.bound;
    }
    made.lists.push_back(std::move(list));
  }
  // Some have all that they can.
  for (const auto& [docid, bound] : bounds)
    made.worth[docid] = random() % 8 == 0 ? bound : bound * share(random);
  return made;
}

TEST(BlockScan, ReadsTheBestDocuments) {
  Random random(TestSeed());
  for (Comparisons comparisons(200); comparisons.Next();) {
    const Lists made = RandomLists(random);
    DocSet candidates;
    std::vector<double> all;
    for (const auto& [docid, worth] : made.worth) {
      if (random() % 5 == 0) continue;
      candidates.Add(docid);
      all.push_back(worth);
    }
    const size_t count = 1 + random() % 30;
    std::priority_queue<double, std::vector<double>, std::greater<double>> kept;
    std::map<DocId, int> read;
    ScanBlocks(
        made.lists, candidates, [&] { return kept.size() < count ? 0 : kept.top(); },
        [&](std::span<const DocId> documents) {
          ASSERT_TRUE(std::is_sorted(documents.begin(), documents.end()));
          for (const DocId docid : documents) {
            ASSERT_TRUE(candidates.Contains(docid));
            ASSERT_EQ(++read[docid], 1);
            kept.push(made.worth.at(docid));
            if (kept.size() > count) kept.pop();
          }
        });
    std::sort(all.rbegin(), all.rend());
    ASSERT_EQ(kept.size(), std::min(count, all.size()));
    if (!all.empty()) {
      ASSERT_EQ(kept.top(), all[kept.size() - 1]);
    }
  }
}

TEST(BlockScan, ReadsFewOfManyDocuments) {
  // One rare word decides; the common one alone cannot.
  BoundedList rare{DocSet::FromSorted(std::vector<uint32_t>{7, 70'000, 140'000}), 10};
  BoundedList common{DocSet::Range(0, 200'000), 1};
  std::vector<double> kept;
  size_t read = 0;
  ScanBlocks(
      std::vector<BoundedList>{rare, common}, common.documents,
      [&] { return kept.empty() ? 0.0 : 9.0; },
      [&](std::span<const DocId> documents) {
        read += documents.size();
        kept.push_back(10);
      });
  EXPECT_LE(read, 100u);
}

}  // namespace
}  // namespace gannet::search
