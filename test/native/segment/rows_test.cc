#include "segment/rows.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <thread>
#include <vector>

#include "test_seed.h"

namespace gannet::segment {
namespace {

// Rows of words, some of them frequent, so that rows share phrases, and of noise.
class RowGenerator {
 public:
  explicit RowGenerator(uint64_t seed) : random_(seed) {
    for (int i = 0; i < 2000; ++i) {
      std::string phrase;
      for (size_t left = 3 + random_() % 20; left > 0; --left)
        phrase.push_back(static_cast<char>('a' + random_() % 26));
      phrases_.push_back(phrase + " ");
    }
  }
  std::string Row(size_t bytes) {
    std::string row;
    while (row.size() < bytes) {
      const uint64_t at = random_() % phrases_.size();
      row += random_() % 8 == 0 ? std::to_string(random_()) : phrases_[at * at / phrases_.size()];
    }
    row.resize(bytes);
    return row;
  }
  std::string Noise(size_t bytes) {
    std::string row(bytes, '\0');
    for (char& c : row) c = static_cast<char>(random_());
    return row;
  }
  size_t Below(size_t end) { return random_() % end; }

 private:
  std::mt19937_64 random_;
  std::vector<std::string> phrases_;
};

std::string DictionaryOf(RowGenerator& rows, size_t count) {
  std::string text;
  std::vector<size_t> ends;
  for (size_t i = 0; i < count; ++i) {
    text += rows.Row(100 + rows.Below(500));
    ends.push_back(text.size());
  }
  return TrainDictionary(text, ends);
}

size_t Compressed(std::shared_ptr<const RowDictionary> dictionary,
                  const std::vector<std::string>& rows) {
  RowCodec codec(std::move(dictionary));
  std::string out;
  for (const std::string& row : rows) codec.Compress(row, out);
  return out.size();
}

TEST(Rows, AreReadBackAtAnyLength) {
  RowGenerator rows(TestSeed());
  const auto dictionary = std::make_shared<const RowDictionary>(DictionaryOf(rows, 3000));
  for (const auto& used : {dictionary, std::make_shared<const RowDictionary>(""),
                           std::shared_ptr<const RowDictionary>()}) {
    RowCodec writer(used), reader(used);
    for (int i = 0; i < 600; ++i) {
      const size_t length = i < 100   ? static_cast<size_t>(i)
                            : i < 590 ? rows.Below(6000)
                                      : rows.Below(300'000);
      const std::string row = i % 5 == 0   ? rows.Noise(length)
                              : i % 7 == 0 ? std::string(length, 'x')
                                           : rows.Row(length);
      std::string compressed = "before";
      writer.Compress(row, compressed);
      ASSERT_EQ(compressed.substr(0, 6), "before");
      compressed.erase(0, 6);
      const auto expanded = reader.Expand(compressed);
      ASSERT_TRUE(expanded.ok());
      ASSERT_EQ(*expanded, row) << i;
      EXPECT_LE(compressed.size(), row.size() + 4) << "never much longer than it is";
    }
  }
}

TEST(Rows, AreCompressedByManyThreadsAgainstOneDictionary) {
  RowGenerator rows(TestSeed() + 1);
  const auto dictionary = std::make_shared<const RowDictionary>(DictionaryOf(rows, 3000));
  std::vector<std::string> texts;
  for (int i = 0; i < 500; ++i) texts.push_back(rows.Row(300));
  std::vector<size_t> sizes(4);
  std::vector<std::thread> threads;
  for (size_t& size : sizes) threads.emplace_back([&] { size = Compressed(dictionary, texts); });
  for (std::thread& thread : threads) thread.join();
  for (const size_t size : sizes) EXPECT_EQ(size, sizes[0]);
}

TEST(Rows, AreSmallerWithATrainedDictionaryThanWithTheFirstRows) {
  RowGenerator rows(TestSeed() + 2);
  std::string text;
  std::vector<size_t> ends;
  for (int i = 0; i < 3000; ++i) {
    text += rows.Row(500);
    ends.push_back(text.size());
  }
  const auto trained = std::make_shared<const RowDictionary>(TrainDictionary(text, ends));
  const auto first = std::make_shared<const RowDictionary>(text.substr(0, kRowDictionaryBytes));
  std::vector<std::string> others;
  for (int i = 0; i < 1000; ++i) others.push_back(rows.Row(500));
  const size_t with_trained = Compressed(trained, others), with_first = Compressed(first, others);
  EXPECT_LT(with_trained, with_first);
  EXPECT_LT(with_first, Compressed(nullptr, others));
}

TEST(TrainedDictionary, IsWhatRowsHaveInCommonAndNoLongerThanAllowed) {
  RowGenerator rows(TestSeed() + 3);
  EXPECT_EQ(TrainDictionary("", {}), "");
  const std::vector<size_t> one{5};
  EXPECT_EQ(TrainDictionary("short", one), "short");
  for (int i = 0; i < 5; ++i) {
    const std::string dictionary = DictionaryOf(rows, 200 + rows.Below(2000));
    EXPECT_LE(dictionary.size(), kRowDictionaryBytes);
    EXPECT_GT(dictionary.size(), kRowDictionaryBytes / 2);
  }
  // Noise around one sentence: only the sentence is taken.
  const std::string sentence = "what every row of this index says of itself, in the same words";
  std::string text;
  std::vector<size_t> ends;
  for (int i = 0; i < 2000; ++i) {
    text += rows.Noise(80) + sentence + rows.Noise(80);
    ends.push_back(text.size());
  }
  const std::string dictionary = TrainDictionary(text, ends);
  EXPECT_NE(dictionary.find(sentence), std::string::npos);
}

}  // namespace
}  // namespace gannet::segment
