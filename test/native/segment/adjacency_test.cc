#include "segment/adjacency.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "segment/layout.h"
#include "test_seed.h"

namespace gannet::segment {
namespace {

// The smallest distance by docid.
using Distances = std::map<DocId, uint32_t>;

Distances DistancesOf(const AdjacencyReader& reader, const SegmentFile& file, Ordinal left,
                      Ordinal right) {
  Distances distances;
  for (uint32_t distance = 1; distance <= kAdjacencyDistances; ++distance) {
    DocSetUnion join;
    reader.Union(file, left, right, distance, join);
    join.Finish().ForEach([&](DocId docid) {
      EXPECT_TRUE(distances.emplace(docid, distance).second) << "listed twice";
    });
  }
  return distances;
}

// Random documents over a few words, at docids with gaps. Compares every pair with a plain map.
void Compare(uint32_t documents, uint32_t gap_max, uint32_t words, uint32_t length_max,
             std::mt19937_64& random) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("neighbours-" + std::to_string(TestSeed()));
  std::map<std::pair<Ordinal, Ordinal>, Distances> expected;
  std::set<Ordinal> chosen;
  for (Ordinal word = 0; word < words; ++word) {
    if (random() % 3 != 0) chosen.insert(word);
  }
  {
    auto file = SegmentFileWriter::Create(path);
    ASSERT_TRUE(file.ok());
    AdjacencyWriter writer(**file, {chosen.begin(), chosen.end()}, words);
    DocId docid = 0;
    for (uint32_t d = 0; d < documents; ++d) {
      docid += 1 + random() % gap_max;
      writer.BeginDocument(docid);
      for (int field = 0; field < 2; ++field) {
        writer.BeginField();
        std::vector<std::pair<uint32_t, Ordinal>> before;  // position, word
        uint32_t position = static_cast<uint32_t>(random() % 2);
        for (uint64_t n = random() % (length_max + 1); n > 0; --n) {
          const auto word = static_cast<Ordinal>(random() % words);
          writer.Add(position, word);
          for (const auto& [at, left] : before) {
            if (position - at > kAdjacencyDistances || !chosen.contains(left) ||
                !chosen.contains(word))
              continue;
            uint32_t& distance =
                expected[{left, word}].try_emplace(docid, position - at).first->second;
            distance = std::min(distance, position - at);
          }
          before.emplace_back(position, word);
          position += random() % 5 == 0 ? 1 + random() % 8 : 1;
        }
      }
    }
    ASSERT_TRUE(writer.Finish().ok());
    ASSERT_TRUE((*file)->Finish().ok());
  }
  auto file = SegmentFile::Open(path);
  ASSERT_TRUE(file.ok());
  const auto reader = AdjacencyReader::Open(**file);
  ASSERT_TRUE(reader.ok());
  for (Ordinal word = 0; word < words + 2; ++word)
    EXPECT_EQ(reader->Frequent(word), chosen.contains(word));
  for (const Ordinal left : chosen) {
    for (const Ordinal right : chosen) {
      const auto found = expected.find({left, right});
      EXPECT_EQ(DistancesOf(*reader, **file, left, right),
                found == expected.end() ? Distances() : found->second);
    }
  }
  EXPECT_TRUE((*file)->Health().ok());
  std::filesystem::remove(path);
}

TEST(Adjacency, EveryPairAgreesWithAPlainMap) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 20; ++round) {
    Compare(1 + random() % 500, 1 + random() % 2000, 1 + random() % 12, 8, random);
  }
}

TEST(Adjacency, BlocksBeyondWhatIsHeldInMemory) {
  std::mt19937_64 random(TestSeed());
  Compare(220'000, 2, 40, 30, random);
}

TEST(Adjacency, WithoutFrequentWordsThereIsNoSection) {
  const std::string path =
      std::filesystem::temp_directory_path() / ("neighbours-none-" + std::to_string(TestSeed()));
  auto writer = SegmentFileWriter::Create(path);
  ASSERT_TRUE(writer.ok());
  AdjacencyWriter neighbours(**writer, {}, 3);
  neighbours.BeginDocument(7);
  neighbours.BeginField();
  for (uint32_t position = 0; position < 3; ++position) neighbours.Add(position, position);
  ASSERT_TRUE(neighbours.Finish().ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  const auto file = SegmentFile::Open(path);
  ASSERT_TRUE(file.ok());
  EXPECT_FALSE((*file)->Has(kAdjacencyWords));
  EXPECT_TRUE(AdjacencyReader::Open(**file)->words().empty());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace gannet::segment
