#include "bitmap/postings_codec.h"

#include <gtest/gtest.h>

#include "bitmap/checked_docset.h"
#include "bitmap/random_docids.h"

namespace gannet {
namespace {

TEST(PostingsCodec, EveryReaderAgreesWithTheSortedVector) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 200; ++round) {
    const std::vector<DocId> docids = RandomDocids(random);
    const DocSet set = DocSet::FromSorted(docids);
    const DocSet filter = DocSet::FromSorted(RandomDocids(random));
    std::string bytes, from_set;
    AppendPostings(docids, bytes);
    AppendPostings(set, from_set);
    ASSERT_EQ(bytes, from_set);
    ASSERT_TRUE(ValidatePostings(bytes).ok());
    EXPECT_EQ(PostingsCount(bytes), docids.size());
    CheckedDocSet::CheckEqual(DecodePostings(bytes), docids);

    DocSet out = DocSet::Range(3, 9);
    UnionPostingsInto(bytes, out);
    EXPECT_EQ(out, set | DocSet::Range(3, 9));
    out = DocSet::Range(3, 9);
    IntersectPostings(bytes, filter, out);
    EXPECT_EQ(out, (set & filter) | DocSet::Range(3, 9));
    out = {};
    IntersectPostings(bytes, filter, out);
    EXPECT_EQ(out, set & filter);
    EXPECT_EQ(PostingsIntersect(bytes, filter), set.Intersects(filter));

    const PostingsReader reader(bytes);
    EXPECT_EQ(reader.count(), docids.size());
    EXPECT_EQ(reader.IntersectionSize(filter), set.IntersectionSize(filter));
    std::vector<uint32_t> all{42}, visited;
    reader.ToVector(all);
    EXPECT_EQ(std::vector<uint32_t>(all.begin() + 1, all.end()), docids);
    reader.ForEach([&](DocId docid) {
      visited.push_back(docid);
      return visited.size() < 20;
    });
    EXPECT_EQ(visited, std::vector<uint32_t>(docids.begin(),
                                             docids.begin() + std::min<size_t>(20, docids.size())));
    for (int i = 0; i < 20; ++i) {
      const DocId docid =
          docids.empty() || i % 2 ? random() % 1000 : docids[random() % docids.size()];
      EXPECT_EQ(reader.Contains(docid), set.Contains(docid));
    }
    if (HasFailure()) return;
  }
}

TEST(PostingsCodec, RareWordsCostFewBytes) {
  std::string bytes;
  AppendPostings(std::vector<uint32_t>{100}, bytes);
  EXPECT_EQ(bytes.size(), 2u);
  bytes.clear();
  AppendPostings(std::vector<uint32_t>{1000, 1001, 1002}, bytes);
  EXPECT_EQ(bytes, std::string("\x06\xe8\x07\x00\x00", 5));
  bytes.clear();
  AppendPostings(DocSet::Range(0, 60'000), bytes);
  EXPECT_LT(bytes.size(), 24u);
}

TEST(PostingsCodec, NoBytesAreTheEmptyList) {
  EXPECT_EQ(PostingsCount(""), 0u);
  EXPECT_TRUE(DecodePostings("").empty());
  EXPECT_TRUE(ValidatePostings("").ok());
  std::string bytes;
  AppendPostings(DocSet(), bytes);
  EXPECT_EQ(bytes, std::string(1, '\0'));
  EXPECT_TRUE(DecodePostings(bytes).empty());
}

TEST(PostingsCodec, ValidatedBytesAreSafeToRead) {
  std::mt19937_64 random(TestSeed());
  size_t refused = 0;
  for (int round = 0; round < 500; ++round) {
    std::string bytes;
    AppendPostings(RandomDocids(random), bytes);
    const size_t where = random() % std::min<size_t>(bytes.size(), 40);
    bytes[where] = static_cast<char>(random());
    if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 1));
    if (!ValidatePostings(bytes, 1u << 31).ok()) {
      ++refused;
      continue;
    }
    const DocSet set = DecodePostings(bytes);
    EXPECT_EQ(set.size(), PostingsCount(bytes));
    if (!set.empty()) {
      EXPECT_LT(set.max(), 1u << 31);
    }
  }
  EXPECT_GT(refused, 100u);
}

TEST(PostingsCodec, ValidationChecksTheDocidBound) {
  std::string bytes;
  AppendPostings(std::vector<uint32_t>{1, 9}, bytes);
  EXPECT_TRUE(ValidatePostings(bytes, 10).ok());
  EXPECT_FALSE(ValidatePostings(bytes, 9).ok());
  EXPECT_FALSE(ValidatePostings(bytes + "x", 10).ok());
}

}  // namespace
}  // namespace gannet
