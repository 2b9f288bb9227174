#include "bitmap/docset_union.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "bitmap/checked_docset.h"
#include "bitmap/postings_codec.h"
#include "bitmap/random_docids.h"

namespace gannet {
namespace {

TEST(DocSetUnion, AgreesWithASetOfAllAdded) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 150; ++round) {
    std::set<uint32_t> expected;
    std::deque<std::string> postings;  // outlive the union
    DocSetUnion join;
    // The union is used twice: the second use must not see the first.
    for (int use = 0; use < 2; ++use) {
      expected.clear();
      const size_t lists = random() % 12;
      for (size_t i = 0; i < lists; ++i) {
        std::vector<DocId> docids = RandomDocids(random);
        expected.insert(docids.begin(), docids.end());
        switch (random() % 4) {
          case 0: {
            std::string& bytes = postings.emplace_back();
            AppendPostings(docids, bytes);
            join.AddPostings(bytes);
            break;
          }
          case 1: join.Add(DocSet::FromSorted(docids)); break;
          case 2: join.Add(std::make_shared<const DocSet>(DocSet::FromSorted(docids))); break;
          default:
            std::shuffle(docids.begin(), docids.end(), random);
            docids.insert(docids.end(), docids.begin(),
                          docids.begin() + static_cast<ptrdiff_t>(docids.size() / 2));
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
      for (size_t n = random() % 6; n > 0; --n)
        list.insert(static_cast<uint32_t>(random() % docids));
      std::string& bytes = postings.emplace_back();
      AppendPostings(std::vector<uint32_t>(list.begin(), list.end()), bytes);
      join.AddPostings(bytes);
      expected.insert(list.begin(), list.end());
    }
    CheckedDocSet::CheckEqual(join.Finish(), {expected.begin(), expected.end()});
  }
}

TEST(DocSetUnion, IsRestrictedToFewDocuments) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 150; ++round) {
    const std::vector<uint32_t> limits = RandomDocids(random);
    const DocSet within = DocSet::FromSorted(limits);
    std::set<uint32_t> expected;
    std::deque<std::string> postings;
    DocSetUnion join(&within);
    for (size_t i = random() % 6; i > 0; --i) {
      const std::vector<DocId> docids = RandomDocids(random);
      std::set_intersection(docids.begin(), docids.end(), limits.begin(), limits.end(),
                            std::inserter(expected, expected.end()));
      std::string& bytes = postings.emplace_back();
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

// Ascending and distinct; more than a restriction holds.
std::vector<uint32_t> ManyDocids(std::mt19937_64& random) {
  std::set<DocId> docids;
  const uint32_t blocks[] = {1, 2, 5, 20};
  const uint32_t end = blocks[random() % 4] * 65'536;
  for (uint32_t begin = 0; begin < end; begin += 65'536) {
    switch (random() % 4) {
      case 0: break;  // an empty block
      case 1:
        for (int i = 0; i < 1500; ++i)
          docids.insert(begin + static_cast<uint32_t>(random() % 65'536));
        break;
      case 2:
        for (DocId docid = begin; docid < begin + 65'536; docid += 1 + random() % 12)
          docids.insert(docid);
        break;
      default: {
        const uint32_t first = begin + static_cast<uint32_t>(random() % 30'000);
        for (DocId docid = first; docid < first + 30'000; ++docid)
          docids.insert(docids.end(), docid);
      }
    }
  }
  return {docids.begin(), docids.end()};
}

// A list of gaps may have any length: those of neighbours do.
TEST(DocSetUnion, ReadsLongListsOfGaps) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 200; ++round) {
    // Most gaps take one byte, or two; now and then up to five.
    const uint32_t usual = random() % 2 == 0 ? 100 : 20'000, rare = random() % 4 == 0 ? 20 : 0;
    std::deque<std::string> postings;
    std::set<uint32_t> all;
    for (size_t lists = 1 + random() % 3; lists > 0; --lists) {
      std::string gaps;
      uint64_t next = 0, count = 0;
      for (size_t i = random() % 20'000; i > 0; --i) {
        const uint64_t gap =
            rare > 0 && random() % rare == 0 ? random() % 300'000'000 : random() % usual;
        if (next + gap >= UINT32_MAX) break;
        PutVarint(gaps, gap);
        all.insert(all.end(), static_cast<uint32_t>(next + gap));
        next += gap + 1;
        ++count;
      }
      PutVarint(postings.emplace_back(), count * 2);
      postings.back() += gaps;
    }
    std::vector<uint32_t> some;  // few, or many; some of them in no list
    const size_t share = random() % 2 == 0 ? 3 : 1 + all.size() / 50;
    for (const DocId docid : all) {
      if (random() % share == 0) some.push_back(docid);
    }
    for (int i = 0; i < 50; ++i) some.push_back(static_cast<uint32_t>(random()));
    std::sort(some.begin(), some.end());
    some.erase(std::unique(some.begin(), some.end()), some.end());
    const DocSet within = DocSet::FromSorted(some);
    std::vector<uint32_t> both;
    std::set_intersection(all.begin(), all.end(), some.begin(), some.end(),
                          std::back_inserter(both));
    DocSetUnion join, cut(&within);
    for (const std::string& bytes : postings) {
      join.AddPostings(bytes);
      cut.AddPostings(bytes);
    }
    CheckedDocSet::CheckEqual(join.Finish(), {all.begin(), all.end()});
    CheckedDocSet::CheckEqual(cut.Finish(), both);
  }
}

TEST(DocSetUnion, IsRestrictedToManyDocuments) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 100; ++round) {
    const std::vector<uint32_t> limits = ManyDocids(random);
    DocSet within = DocSet::FromSorted(limits);
    if (random() % 2 == 0) within.Optimize();  // runs
    std::set<uint32_t> expected;
    std::deque<std::string> postings;
    DocSetUnion join(&within);
    for (size_t parts = 1 + random() % 3; parts > 0; --parts) {
      DocSetUnion part(&within);
      std::vector<uint32_t> without;
      const bool whole = random() % 2 == 0;
      if (!whole) without = random() % 2 == 0 ? RandomDocids(random) : ManyDocids(random);
      for (size_t i = random() % 4; i > 0; --i) {
        const std::vector<DocId> docids =
            random() % 2 == 0 ? RandomDocids(random) : ManyDocids(random);
        std::vector<uint32_t> left;
        std::set_difference(docids.begin(), docids.end(), without.begin(), without.end(),
                            std::back_inserter(left));
        std::set_intersection(left.begin(), left.end(), limits.begin(), limits.end(),
                              std::inserter(expected, expected.end()));
        DocSetUnion& to = whole ? join : part;
        DocSet set = DocSet::FromSorted(docids);
        switch (random() % 5) {
          case 0: to.Add(std::move(set)); break;
          case 1: to.Add(docids); break;
          case 2:
            set.Optimize();
            to.Add(std::make_shared<const DocSet>(std::move(set)));
            break;
          default: AppendPostings(docids, postings.emplace_back()); to.AddPostings(postings.back());
        }
      }
      if (!whole) join.Add(part, DocBits(DocSet::FromSorted(without)));
    }
    CheckedDocSet::CheckEqual(join.Finish(), {expected.begin(), expected.end()});
  }
}

TEST(DocSetUnion, AddsAPartWithoutTheDocidsOfAnother) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 150; ++round) {
    std::set<uint32_t> expected;
    std::vector<std::string> kept;  // the bytes stay in place until the end
    kept.reserve(64);
    DocSetUnion join;
    for (size_t parts = random() % 5; parts > 0; --parts) {
      DocSetUnion part;
      std::set<uint32_t> all;
      for (size_t i = random() % 4; i > 0; --i) {
        const std::vector<DocId> docids = RandomDocids(random);
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
      for (const DocId docid : all) {
        if (random() % 16 == 0) without.push_back(docid);
      }
      std::sort(without.begin(), without.end());
      without.erase(std::unique(without.begin(), without.end()), without.end());
      std::set_difference(all.begin(), all.end(), without.begin(), without.end(),
                          std::inserter(expected, expected.end()));
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
