#include "segment/local_docids.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "bitmap/random_docids.h"

namespace gannet::segment {
namespace {

TEST(LocalDocIds, AreThoseThatASearchFinds) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 400; ++round) {
    std::vector<uint32_t> docids = RandomDocids(random);
    if (round % 2 == 0) {
      // Long runs with few gaps.
      docids.clear();
      DocId docid = random() % 3 == 0 ? 0 : static_cast<uint32_t>(random() % 4'000'000'000u);
      for (int run = 0; run < 40 && docid < 4'200'000'000u; ++run) {
        for (uint32_t i = static_cast<uint32_t>(1 + random() % (random() % 8 == 0 ? 5000 : 200));
             i > 0; --i)
          docids.push_back(docid++);
        docid += static_cast<uint32_t>(1 + random() % (random() % 8 == 0 ? 100'000 : 3));
      }
    }
    const uint64_t keep = 1 + random() % 100;
    std::vector<uint32_t> wanted;
    for (const DocId docid : docids) {
      if (random() % 100 < keep) wanted.push_back(docid);
    }
    size_t next = 0;
    const LocalDocIds local_docids(docids);
    ForEachLocal(local_docids, DocSet::FromSorted(wanted), [&](uint32_t local, DocId docid) {
      ASSERT_LT(next, wanted.size());
      ASSERT_EQ(docid, wanted[next++]);
      ASSERT_LT(local, docids.size());
      ASSERT_EQ(docids[local], docid);
    });
    ASSERT_EQ(next, wanted.size());
    ASSERT_TRUE(local_docids.Documents() == DocSet::FromSorted(docids));
    for (int i = 0; i < 200 && !docids.empty(); ++i) {
      const uint32_t near =
          docids[random() % docids.size()] + static_cast<uint32_t>(random() % 5) - 2;
      const auto found = std::lower_bound(docids.begin(), docids.end(), near);
      ASSERT_EQ(local_docids.Find(near),
                found != docids.end() && *found == near ? found - docids.begin() : -1);
    }
    ASSERT_EQ(LocalDocIds().Find(static_cast<uint32_t>(round)), -1);
  }
}

}  // namespace
}  // namespace gannet::segment
