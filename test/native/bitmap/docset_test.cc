#include "bitmap/docset.h"

#include <gtest/gtest.h>

#include <utility>

#include "bitmap/checked_docset.h"
#include "bitmap/random_docids.h"

namespace gannet {
namespace {

CheckedDocSet Checked(const std::vector<uint32_t>& docids) {
  CheckedDocSet set;
  set.AddMany(docids);
  return set;
}

TEST(DocSet, BehavesAsASetUnderRandomOperations) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 60; ++round) {
    CheckedDocSet set = Checked(RandomDocids(random));
    for (int step = 0; step < 8; ++step) {
      const CheckedDocSet other = Checked(RandomDocids(random));
      switch (random() % 8) {
        case 0: set |= other; break;
        case 1: set &= other; break;
        case 2: set -= other; break;
        case 3: set.Add(static_cast<uint32_t>(random())); break;
        case 4: {
          const uint32_t begin = random() % 100'000;
          set.AddRange(begin, begin + random() % 10'000);
          break;
        }
        case 5:
          if (!set.reference().empty()) set.Remove(*set.reference().begin());
          set.Remove(random() % 100'000);
          break;
        case 6: set.Optimize(); break;
        case 7: {
          const CheckedDocSet copy = set;
          set |= copy;
          break;
        }
      }
      set.Check();
      if (HasFatalFailure()) return;
    }
  }
}

TEST(DocSet, BinaryOperatorsAgreeWithTheirInPlaceForms) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 60; ++round) {
    const CheckedDocSet a = Checked(RandomDocids(random));
    const CheckedDocSet b = Checked(RandomDocids(random));
    CheckedDocSet either = a, both = a, only_a = a;
    either |= b;
    both &= b;
    only_a -= b;
    EXPECT_EQ(a.set() | b.set(), either.set());
    EXPECT_EQ(a.set() & b.set(), both.set());
    EXPECT_EQ(a.set() - b.set(), only_a.set());
    EXPECT_EQ(a.set().IntersectionSize(b.set()), both.reference().size());
    EXPECT_EQ(a.set().Intersects(b.set()), !both.reference().empty());
    EXPECT_EQ(a.set().IsSubsetOf(b.set()), both.reference() == a.reference());
    EXPECT_TRUE(both.set().IsSubsetOf(b.set()));
    EXPECT_EQ(a.set() == b.set(), a.reference() == b.reference());
  }
}

TEST(DocSet, UnionOfManyEqualsUnionOneByOne) {
  std::mt19937_64 random(TestSeed());
  for (const size_t count : {0, 1, 2, 7, 40}) {
    std::vector<CheckedDocSet> sets;
    for (size_t i = 0; i < count; ++i) sets.push_back(Checked(RandomDocids(random)));
    std::vector<const DocSet*> pointers;
    CheckedDocSet expected;
    for (const CheckedDocSet& set : sets) {
      pointers.push_back(&set.set());
      expected |= set;
    }
    EXPECT_EQ(DocSet::Union(pointers), expected.set());
    for (const CheckedDocSet& set : sets) set.Check();
  }
}

TEST(DocSet, EqualSetsHaveEqualBytes) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 200; ++round) {
    // Runs of three take as many bytes as their docids.
    DocSet by_range;
    std::vector<uint32_t> docids;
    for (uint32_t at = 0, runs = 1 + random() % 40; runs > 0; --runs) {
      at += 1 + random() % 5'000;
      const uint32_t end = at + 1 + random() % 4;
      by_range.AddRange(at, end);
      while (at < end) docids.push_back(at++);
    }
    DocSet by_docid = DocSet::FromSorted(docids);
    std::string bytes, other;
    for (const auto& [set, out] : {std::pair{&by_range, &bytes}, {&by_docid, &other}}) {
      set->Optimize();
      set->AppendTo(*out);
    }
    ASSERT_EQ(bytes, other);
  }
}

TEST(DocSet, OperationsWithItselfAreSafe) {
  DocSet set = DocSet::Range(5, 100'000);
  set |= set;
  set &= set;
  EXPECT_EQ(set, DocSet::Range(5, 100'000));
  set = *&set;
  EXPECT_EQ(set.size(), 99'995u);
  set -= set;
  EXPECT_TRUE(set.empty());
}

TEST(DocSet, MovingLeavesTheSourceEmptyAndUsable) {
  DocSet a = DocSet::Range(1, 10);
  DocSet b = std::move(a);
  EXPECT_TRUE(a.empty());
  a.Add(7);
  EXPECT_EQ(a.size(), 1u);
  a = std::move(b);
  EXPECT_EQ(a, DocSet::Range(1, 10));
  EXPECT_TRUE(b.empty());
}

TEST(DocSet, RangeIsHalfOpen) {
  EXPECT_TRUE(DocSet::Range(3, 3).empty());
  EXPECT_TRUE(DocSet::Range(4, 3).empty());
  const DocSet set = DocSet::Range(65'535, 65'538);
  CheckedDocSet::CheckEqual(set, {65'535, 65'536, 65'537});
  EXPECT_FALSE(set.Contains(65'534));
  EXPECT_FALSE(set.Contains(65'538));
}

TEST(DocSet, ForEachStopsWhenTheSinkReturnsFalse) {
  const DocSet set = DocSet::Range(0, 1000);
  for (const uint32_t stop : {0u, 1u, 127u, 128u, 129u, 999u}) {
    uint32_t last = 0;
    set.ForEach([&](DocId docid) {
      last = docid;
      return docid != stop;
    });
    EXPECT_EQ(last, stop);
  }
}

TEST(DocSet, RankCountsStrictlySmallerDocids) {
  const DocSet set = DocSet::FromSorted(std::vector<uint32_t>{2, 5, 70'000});
  EXPECT_EQ(set.Rank(0), 0u);
  EXPECT_EQ(set.Rank(2), 0u);
  EXPECT_EQ(set.Rank(3), 1u);
  EXPECT_EQ(set.Rank(70'000), 2u);
  EXPECT_EQ(set.Rank(UINT32_MAX), 3u);
}

TEST(DocSetCursor, SkipsForwardOnly) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 40; ++round) {
    const std::vector<DocId> docids = RandomDocids(random);
    const DocSet set = DocSet::FromSorted(docids);
    DocSetCursor cursor(set);
    size_t at = 0;
    for (int step = 0; step < 20; ++step) {
      uint32_t block[7];
      const size_t count = cursor.Read(block, 1 + random() % 7);
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(block[i], docids[at++]);
      if (docids.empty()) break;
      const uint32_t target = docids[random() % docids.size()];
      cursor.SkipTo(target);
      while (at < docids.size() && docids[at] < target) ++at;
    }
  }
}

TEST(DocSetView, ReadsSerialisedBytesAtAnyAlignment) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 60; ++round) {
    const std::vector<DocId> docids = RandomDocids(random);
    DocSet set = DocSet::FromSorted(docids);
    if (round % 2) set.Optimize();
    std::string bytes(round % 9, 'x');
    const size_t before = bytes.size();
    set.AppendTo(bytes);
    ASSERT_EQ(bytes.size() - before, set.SerializedBytes());
    const std::string_view stored = std::string_view(bytes).substr(before);
    ASSERT_TRUE(ValidateDocSet(stored).ok());
    DocSetView moved{stored};
    DocSetView view(std::move(moved));
    CheckedDocSet::CheckEqual(view, docids);
    const DocSet copy = view.set();
    const DocSet other = DocSet::FromSorted(RandomDocids(random));
    EXPECT_EQ(view.set() | other, set | other);
    EXPECT_EQ(view.set() & other, set & other);
    EXPECT_EQ(other - view.set(), other - set);
    DocSet into = other;
    into |= view;
    EXPECT_EQ(into, set | other);
    const DocSet* both[] = {&view.set(), &other};
    EXPECT_EQ(DocSet::Union(both), set | other);
    view = DocSetView(stored);
    EXPECT_EQ(copy, view.set());
    const Result<DocSet> parsed = DocSet::Parse(stored);
    ASSERT_TRUE(parsed.ok());
    EXPECT_EQ(*parsed, set);
    if (HasFailure()) return;
  }
}

TEST(DocSet, ParseRefusesDamagedBytesOrGivesAValidSet) {
  std::mt19937_64 random(TestSeed());
  size_t refused = 0;
  for (int round = 0; round < 300; ++round) {
    DocSet set = DocSet::FromSorted(RandomDocids(random));
    if (round % 2) set.Optimize();
    std::string bytes;
    set.AppendTo(bytes);
    for (size_t i = 0; i < 1 + random() % 3; ++i) {
      const size_t where = random() % std::min<size_t>(bytes.size(), 1 + random() % 64);
      bytes[where] = static_cast<char>(random());
    }
    if (random() % 4 == 0) bytes.resize(random() % bytes.size());
    Result<DocSet> parsed = DocSet::Parse(bytes);
    refused += !parsed.ok();
    if (parsed.ok()) {
      std::vector<DocId> docids;
      parsed->ToVector(docids);
      CheckedDocSet::CheckEqual(*parsed, docids);
    }
    if (ValidateDocSet(bytes).ok()) {
      ASSERT_TRUE(parsed.ok());
      EXPECT_EQ(DocSetView(bytes).set(), *parsed);
    }
  }
  EXPECT_GT(refused, 50u);
  EXPECT_EQ(DocSet::Parse("").status().code(), StatusCode::kCorruption);
}

TEST(DocSet, ValidationRefusesOffsetsThatAViewWouldFollowOutside) {
  DocSet set;
  for (uint32_t block = 0; block < 4; ++block) set.Add(block << 16);
  std::string bytes;
  set.AppendTo(bytes);
  ASSERT_TRUE(ValidateDocSet(bytes).ok());
  EXPECT_FALSE(ValidateDocSet(bytes, 3 << 16).ok());
  EXPECT_TRUE(ValidateDocSet(bytes, (3 << 16) + 1).ok());
  bytes[8 + 4 * 4 + 3] = 0x7f;  // cookie and count, four descriptions, then the offsets
  EXPECT_EQ(ValidateDocSet(bytes).code(), StatusCode::kCorruption);
  EXPECT_FALSE(ValidateDocSet(bytes + "x").ok());
}

}  // namespace
}  // namespace gannet
