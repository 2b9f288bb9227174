#include "bitmap/docset_union.h"

#include <gtest/gtest.h>

#include <set>

#include "bitmap/checked_docset.h"
#include "bitmap/postings_codec.h"
#include "bitmap/random_docids.h"

namespace gannet {
namespace {

TEST(DocSetUnion, AgreesWithASetOfAllThatWasAdded) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 150; ++round) {
    std::set<uint32_t> expected;
    DocSetUnion join;
    // One union is used twice: nothing of the first use is left.
    for (int use = 0; use < 2; ++use) {
      expected.clear();
      const size_t lists = random() % 12;
      for (size_t i = 0; i < lists; ++i) {
        std::vector<uint32_t> docids = RandomDocids(random);
        expected.insert(docids.begin(), docids.end());
        switch (random() % 3) {
          case 0: {
            std::string bytes;
            AppendPostings(docids, bytes);
            join.AddPostings(bytes);
            break;
          }
          case 1: join.Add(DocSet::FromSorted(docids)); break;
          default:
            std::shuffle(docids.begin(), docids.end(), random);
            docids.insert(docids.end(), docids.begin(), docids.begin() + static_cast<ptrdiff_t>(docids.size() / 2));
            join.Add(docids);
        }
      }
      CheckedDocSet::CheckEqual(join.Finish(), {expected.begin(), expected.end()});
    }
  }
}

TEST(DocSetUnion, ManyShortListsOfOneBlockAndOfMany) {
  std::mt19937_64 random(TestSeed());
  for (const uint32_t docids : {1000u, 65'536u, 1'000'000u}) {
    std::set<uint32_t> expected;
    DocSetUnion join;
    for (int i = 0; i < 3000; ++i) {
      std::set<uint32_t> list;
      for (size_t n = random() % 6; n > 0; --n) list.insert(static_cast<uint32_t>(random() % docids));
      std::string bytes;
      AppendPostings(std::vector<uint32_t>(list.begin(), list.end()), bytes);
      join.AddPostings(bytes);
      expected.insert(list.begin(), list.end());
    }
    CheckedDocSet::CheckEqual(join.Finish(), {expected.begin(), expected.end()});
  }
}

TEST(DocSetUnion, OfNothingIsEmpty) {
  DocSetUnion join;
  join.AddPostings("");
  join.Add(DocSet());
  EXPECT_TRUE(join.Finish().empty());
}

}  // namespace
}  // namespace gannet
