#include "segment/prefix_unions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "base/bytes.h"
#include "bitmap/postings_codec.h"
#include "segment/layout.h"
#include "segment/text.h"
#include "test_seed.h"

namespace gannet::segment {
namespace {

using Characters = std::vector<std::string>;
using Words = std::set<Ordinal>;
using Fields = std::map<FieldId, std::set<DocId>>;

struct Word {
  Characters characters;
  Fields fields;
  bool added = true;
};

std::string TextOf(const Word& word) {
  std::string text;
  for (const std::string& character : word.characters) text += character;
  return text;
}

// The encoding of TextReader::PostingBlob, with the list of an early position after the fields.
std::string BlobOf(const Fields& fields) {
  std::string blob;
  PutVarint(blob, (fields.size() + 1) << 1);
  uint64_t last = 0;
  const auto put = [&](uint64_t id, const std::set<DocId>& documents) {
    PutVarint(blob, id - last);
    last = id;
    std::string postings;
    AppendPostings(std::vector<DocId>(documents.begin(), documents.end()), postings);
    PutBytes(blob, postings);
  };
  for (const auto& [field, documents] : fields) put(field, documents);
  put(kLeadingLists, {999'999});
  return blob;
}

std::string PathOf(const std::string& name) {
  return std::filesystem::temp_directory_path() / (name + std::to_string(TestSeed()));
}

// Words in byte order, and their expected unions: by the words, the documents of each field.
class PrefixUnionsTest : public testing::Test {
 protected:
  void SetUp() override {
    static const Characters kAlphabet{"a", "b", "é", "中", "9"};
    std::map<std::string, Word> drawn;
    // The first letters are uneven, so that there are groups of few words and of many.
    std::vector<Characters> drawn_words;
    for (int i = 0; i < 12'000; ++i) {
      Characters& characters = drawn_words.emplace_back();
      for (uint64_t length = 1 + random_() % 9; length > 0; --length) {
        const uint64_t a = random_() % kAlphabet.size(), b = random_() % kAlphabet.size();
        characters.push_back(kAlphabet[characters.size() < 2 ? std::min(a, b) : a]);
      }
    }
    // Many words that share only one letter, and few.
    for (char second = '!'; second <= '~'; ++second)
      drawn_words.push_back({"x", std::string(1, second)});
    drawn_words.push_back({"z"});
    for (Characters& characters : drawn_words) {
      Word word{std::move(characters), {}};
      for (uint64_t n = 1 + random_() % 3; n > 0; --n) {
        auto& documents = word.fields[static_cast<FieldId>(random_() % 4 * 3)];
        for (uint64_t d = 1 + random_() % (random_() % 4 == 0 ? 100 : 10); d > 0; --d)
          documents.insert(static_cast<DocId>(random_() % 200'000));
      }
      word.added = random_() % 40 != 0;
      drawn.emplace(TextOf(word), std::move(word));
    }
    for (auto& [text, word] : drawn) words_.push_back(std::move(word));
    // The reference model: groups of three characters that are large enough, then the remaining
    // words by two, then by one.
    Words left;
    for (Ordinal i = 0; i < words_.size(); ++i) {
      if (words_[i].added) left.insert(i);
    }
    for (ptrdiff_t length = kPrefixCharsMax; length > 0; --length) {
      std::map<Characters, Words> groups;
      for (const Ordinal i : left) {
        const Characters& characters = words_[i].characters;
        groups[{characters.begin(), characters.begin() + std::min(length, std::ssize(characters))}]
            .insert(i);
      }
      const size_t before = expected_.size();
      for (const auto& [characters, group] : groups) {
        if (group.size() < PrefixWordsMin()) continue;
        Expect(group);
        for (const Ordinal i : group) left.erase(i);
      }
      EXPECT_GT(expected_.size(), before) << "no union of " << length << " characters is shown";
    }
    EXPECT_GT(left.size(), 0u) << "every word is in a union";
    // In addition, all words of a letter that has many unions.
    std::map<std::string, std::pair<Words, uint64_t>> letters;  // and the number of unions
    for (Ordinal i = 0; i < words_.size(); ++i) {
      if (words_[i].added) letters[words_[i].characters[0]].first.insert(i);
    }
    for (const auto& [group, fields] : expected_)
      ++letters[words_[*group.begin()].characters[0]].second;
    const auto has_union = [](const auto& letter) {
      return letter.second.second >= LetterUnionsMin();
    };
    EXPECT_GT(std::count_if(letters.begin(), letters.end(), has_union), 0);
    EXPECT_FALSE(std::all_of(letters.begin(), letters.end(), has_union));
    for (const auto& letter : letters) {
      if (has_union(letter)) Expect(letter.second.first);
    }

    auto file = SegmentFileWriter::Create(path_);
    ASSERT_TRUE(file.ok());
    PrefixUnionWriter writer(**file);
    for (Ordinal i = 0; i < words_.size(); ++i) {
      if (words_[i].added) writer.Add(TextOf(words_[i]), i, BlobOf(words_[i].fields));
    }
    ASSERT_TRUE(writer.Finish().ok());
    ASSERT_TRUE((*file)->Finish().ok());
    auto opened = SegmentFile::Open(path_);
    ASSERT_TRUE(opened.ok());
    file_ = *opened;
  }
  void TearDown() override { std::filesystem::remove(path_); }

  void Expect(const Words& group) {
    Fields& fields = expected_[group];
    for (const Ordinal word : group) {
      for (const auto& [field, documents] : words_[word].fields)
        fields[field].insert(documents.begin(), documents.end());
    }
  }
  static Words WordsOf(std::span<const WordRange> ranges) {
    Words words;
    for (const auto& [begin, end] : ranges) {
      for (Ordinal word = begin; word < end; ++word) words.insert(word);
    }
    return words;
  }

  std::mt19937_64 random_{TestSeed()};
  const std::string path_ = PathOf("prefixes-");
  std::vector<Word> words_;
  std::map<Words, Fields> expected_;
  std::shared_ptr<SegmentFile> file_;
};

TEST_F(PrefixUnionsTest, UnionsAgreeWithPlainSets) {
  const auto unions = PrefixUnions::Open(*file_, static_cast<uint32_t>(words_.size()));
  ASSERT_TRUE(unions.ok());
  std::map<Words, Fields> found;
  for (uint32_t i = 0; i < unions->count(); ++i) {
    Fields& fields = found[WordsOf(unions->WordsOf(i))];
    for (const PrefixUnions::List& list : unions->ListsOf(i)) {
      const std::string_view postings = file_->Read(kPrefixData, list.begin, list.size);
      ASSERT_TRUE(ValidatePostings(postings).ok());
      PostingsReader(postings).ForEach([&](DocId docid) { fields[list.field].insert(docid); });
    }
  }
  EXPECT_EQ(found, expected_);
}

TEST_F(PrefixUnionsTest, FindTakesEveryUnionThatIsWantedWholeAndNoOther) {
  const auto unions = PrefixUnions::Open(*file_, static_cast<uint32_t>(words_.size()));
  ASSERT_TRUE(unions.ok());
  const auto count = static_cast<Ordinal>(words_.size());
  size_t used = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<WordRange> ranges;
    for (uint64_t n = random_() % 4; n > 0; --n) {
      const auto begin = static_cast<Ordinal>(random_() % count);
      ranges.emplace_back(begin, begin + random_() % (count - begin));
    }
    // Like a prefix query, which leaves out its frequent words.
    if (round % 2 == 0) {
      for (const auto& range : unions->WordsOf(static_cast<uint32_t>(random_() % unions->count())))
        ranges.push_back(range);
      std::shuffle(ranges.begin(), ranges.end(), random_);
    }
    const Words wanted = WordsOf(ranges);
    const PrefixUnions::Cover cover = unions->Find(ranges);
    Words together = WordsOf(cover.words);
    EXPECT_EQ(together.size(), cover.word_count()) << "a word twice";
    size_t sum = together.size();
    for (const uint32_t number : cover.unions) {
      const Words here = WordsOf(unions->WordsOf(number));
      sum += here.size();
      together.insert(here.begin(), here.end());
      ++used;
    }
    EXPECT_EQ(sum, together.size()) << "a word twice";
    EXPECT_EQ(together, wanted);
    std::vector<Words> whole;
    for (uint32_t i = 0; i < unions->count(); ++i) {
      Words here = WordsOf(unions->WordsOf(i));
      EXPECT_GE(here.size(), unions->words_min());
      if (std::includes(wanted.begin(), wanted.end(), here.begin(), here.end()))
        whole.push_back(std::move(here));
    }
    // The unions whose words are all wanted, without those that are part of another.
    std::set<Words> largest, taken;
    for (const Words& here : whole) {
      const auto larger = [&](const Words& other) {
        return other.size() > here.size() &&
               std::includes(other.begin(), other.end(), here.begin(), here.end());
      };
      if (std::none_of(whole.begin(), whole.end(), larger)) largest.insert(here);
    }
    for (const uint32_t number : cover.unions) taken.insert(WordsOf(unions->WordsOf(number)));
    EXPECT_EQ(taken, largest);
  }
  EXPECT_GT(used, 200u);
}

TEST_F(PrefixUnionsTest, AWordThatTheSegmentDoesNotHaveIsDamage) {
  EXPECT_EQ(PrefixUnions::Open(*file_, 10).status().code(), StatusCode::kCorruption);
}

// The first word and the last one of the letter are in the union of remaining words, which follows
// that of all its words.
TEST(PrefixUnions, TheUnionOfALetterPrecedesThatOfItsRemainingWords) {
  const std::string path = PathOf("prefixes-letter-");
  std::vector<std::string> words;
  for (char second = '!'; second <= '~'; ++second) {
    words.push_back({'y', second});
    for (char third = '!'; third <= '~' && second >= 'a' && second < 'k'; ++third)
      words.push_back({'y', second, third});
  }
  auto file = SegmentFileWriter::Create(path);
  ASSERT_TRUE(file.ok());
  PrefixUnionWriter writer(**file);
  for (Ordinal i = 0; i < words.size(); ++i) writer.Add(words[i], i, BlobOf({{1, {i}}}));
  ASSERT_TRUE(writer.Finish().ok());
  ASSERT_TRUE((*file)->Finish().ok());
  const auto opened = SegmentFile::Open(path);
  ASSERT_TRUE(opened.ok());
  const auto unions = PrefixUnions::Open(**opened, static_cast<uint32_t>(words.size()));
  ASSERT_TRUE(unions.ok());
  ASSERT_GT(unions->count(), 2u);
  const std::vector<WordRange> all{{0, static_cast<Ordinal>(words.size())}};
  const PrefixUnions::Cover cover = unions->Find(all);
  EXPECT_TRUE(cover.words.empty());
  ASSERT_EQ(cover.unions.size(), 1u);
  EXPECT_EQ(CountWords(unions->WordsOf(cover.unions[0])), words.size());
  std::filesystem::remove(path);
}

TEST(PrefixUnions, FewWordsHaveNone) {
  const std::string path = PathOf("prefixes-none-");
  auto file = SegmentFileWriter::Create(path);
  ASSERT_TRUE(file.ok());
  PrefixUnionWriter writer(**file);
  writer.Add("", 0, BlobOf({{1, {5}}}));
  writer.Add("a", 1, BlobOf({{1, {5}}}));
  ASSERT_TRUE(writer.Finish().ok());
  ASSERT_TRUE((*file)->Finish().ok());
  const auto opened = SegmentFile::Open(path);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ((*opened)->Has(kPrefixWords), PrefixWordsMin() == 1);
  EXPECT_TRUE(PrefixUnions::Open(**opened, 2).ok());
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace gannet::segment
