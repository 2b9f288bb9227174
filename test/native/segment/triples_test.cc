#include "segment/triples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <set>

#include "comparisons.h"
#include "segment/layout.h"

namespace gannet::segment {
namespace {

std::string TriplesPath() {
  return std::filesystem::temp_directory_path() / ("triples" + std::to_string(TestSeed()));
}

// Few letters, so that triples are shared; some of several bytes.
std::string RandomText(std::mt19937_64& random, uint64_t length_max) {
  static const char* const kLetters[] = {"a", "b", "c", "é", "中", "🙂", "7"};
  std::string text;
  for (uint64_t length = 1 + random() % length_max; length > 0; --length)
    text += kLetters[random() % std::size(kLetters)];
  return text;
}

// What WordsWith gives is the words with all triples of the text that are read, so every word that
// contains the text is among them; with one triple it gives no other.
TEST(Triples, GiveEveryWordThatContainsAText) {
  std::mt19937_64 random(TestSeed());
  Comparisons comparisons(2000);
  while (comparisons.Left()) {
    std::set<std::string> set;
    for (uint64_t n = 1 + random() % 300; n > 0; --n) set.insert(RandomText(random, 8));
    const std::vector<std::string> words(set.begin(), set.end());
    std::vector<bool> listed(words.size());
    {
      auto file = SegmentFileWriter::Create(TriplesPath());
      ASSERT_TRUE(file.ok());
      TripleWriter writer(**file);
      for (size_t i = 0; i < words.size(); ++i) {
        listed[i] = random() % 4 != 0;
        if (listed[i]) writer.Add(words[i], static_cast<Ordinal>(i));
      }
      writer.Finish();
      (*file)->AddSection(kTextMeta, "x");
      ASSERT_TRUE((*file)->Finish().ok());
    }
    const auto file = SegmentFile::Open(TriplesPath());
    ASSERT_TRUE(file.ok());
    const auto table = Triples::Open(**file, static_cast<uint32_t>(words.size()));
    ASSERT_TRUE(table.ok());
    std::vector<Ordinal> found;
    for (int i = 0; i < 200 && comparisons.Next(); ++i) {
      std::string text;
      while (CountChars(text) < kTripleChars) text = RandomText(random, 5);
      table->WordsWith(text, found);
      ASSERT_TRUE(std::is_sorted(found.begin(), found.end()));
      const bool exact = CountChars(text) == kTripleChars;
      for (size_t w = 0; w < words.size(); ++w) {
        const bool contains = listed[w] && words[w].find(text) != std::string::npos;
        const bool given = std::binary_search(found.begin(), found.end(), static_cast<Ordinal>(w));
        if (contains || exact)
          ASSERT_EQ(given, contains) << words[w] << " " << text << " seed " << TestSeed();
      }
    }
    EXPECT_FALSE((*file)->corrupt());
  }
  std::filesystem::remove(TriplesPath());
}

TEST(Triples, WithoutWordsThereAreNoSections) {
  {
    auto file = SegmentFileWriter::Create(TriplesPath());
    ASSERT_TRUE(file.ok());
    TripleWriter writer(**file);
    writer.Add("ab", 0);  // too short
    writer.Finish();
    (*file)->AddSection(kTextMeta, "x");
    ASSERT_TRUE((*file)->Finish().ok());
  }
  const auto file = SegmentFile::Open(TriplesPath());
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->sections(), std::vector<SectionId>{kTextMeta});
  const auto table = Triples::Open(**file, 1);
  ASSERT_TRUE(table.ok());
  std::vector<Ordinal> found{7};
  table->WordsWith("abc", found);
  EXPECT_TRUE(found.empty());
  std::filesystem::remove(TriplesPath());
}

}  // namespace
}  // namespace gannet::segment
