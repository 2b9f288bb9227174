#include "bitmap/docset_union.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>
#include <string>

#include "bitmap/checked_docset.h"
#include "bitmap/postings_codec.h"
#include "bitmap/random_docids.h"

namespace gannet {
namespace {

TEST(DocSetUnion, AgreesWithASetOfAllThatWasAdded) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 150; ++round) {
    std::set<uint32_t> expected;
    std::deque<std::string> postings;  // outlive the union
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
            std::string& bytes = postings.emplace_back();
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
    std::deque<std::string> postings;
    DocSetUnion join;
    for (int i = 0; i < 3000; ++i) {
      std::set<uint32_t> list;
      for (size_t n = random() % 6; n > 0; --n) list.insert(static_cast<uint32_t>(random() % docids));
      std::string& bytes = postings.emplace_back();
      AppendPostings(std::vector<uint32_t>(list.begin(), list.end()), bytes);
      join.AddPostings(bytes);
      expected.insert(list.begin(), list.end());
    }
    CheckedDocSet::CheckEqual(join.Finish(), {expected.begin(), expected.end()});
  }
}

TEST(DocSetUnion, TakesOnlyWhatIsWithin) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 150; ++round) {
    const std::vector<uint32_t> limits = RandomDocids(random);
    const DocSet within = DocSet::FromSorted(limits);
    std::set<uint32_t> expected;
    DocSetUnion join(&within);
    for (size_t i = random() % 6; i > 0; --i) {
      const std::vector<uint32_t> docids = RandomDocids(random);
      std::set_intersection(docids.begin(), docids.end(), limits.begin(), limits.end(), std::inserter(expected, expected.end()));
      std::string bytes;
      AppendPostings(docids, bytes);
      switch (random() % 3) {
        case 0: join.AddPostings(bytes); break;
        case 1: join.Add(DocSet::FromSorted(docids)); break;
        default: join.Add(docids);
      }
    }
    CheckedDocSet::CheckEqual(join.Finish(), {expected.begin(), expected.end()});
  }
}

TEST(DocSetUnion, LeavesOutWhatOnePartHoldsOfAnother) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 150; ++round) {
    std::set<uint32_t> expected;
    std::vector<std::string> kept;  // bytes stay where they are until the end
    kept.reserve(64);
    DocSetUnion join;
    for (size_t parts = random() % 5; parts > 0; --parts) {
      DocSetUnion part;
      std::set<uint32_t> all;
      for (size_t i = random() % 4; i > 0; --i) {
        const std::vector<uint32_t> docids = RandomDocids(random);
        all.insert(docids.begin(), docids.end());
        kept.emplace_back();
        AppendPostings(docids, kept.back());
        if (random() % 4 == 0) {
          part.Add(DocSet::FromSorted(docids));
        } else {
          part.AddPostings(kept.back());
        }
      }
      std::vector<uint32_t> without = RandomDocids(random);
      for (const uint32_t docid : all) {
        if (random() % 16 == 0) without.push_back(docid);
      }
      std::sort(without.begin(), without.end());
      without.erase(std::unique(without.begin(), without.end()), without.end());
      std::set_difference(all.begin(), all.end(), without.begin(), without.end(), std::inserter(expected, expected.end()));
      join.Add(part, DocBits(DocSet::FromSorted(without)));
      EXPECT_TRUE(part.Finish().empty());
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
