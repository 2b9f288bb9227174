#include "search/places.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "base/bytes.h"
#include "test_seed.h"

namespace gannet::search {
namespace {

// `ordinals` as a forward record packs them, nothing behind the last byte.
std::string Pack(const std::vector<Ordinal>& ordinals, uint32_t width) {
  std::string bytes((ordinals.size() * width + 7) / 8, '\0');
  for (size_t i = 0; i < ordinals.size(); ++i) {
    for (uint32_t bit = 0; bit < width; ++bit) {
      const size_t at = i * width + bit;
      bytes[at / 8] = static_cast<char>(bytes[at / 8] | (ordinals[i] >> bit & 1) << at % 8);
    }
  }
  return bytes;
}

TEST(OrdinalSet, FindsTheSameAsOneTestPerWord) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 2000; ++round) {
    const uint32_t words = 1 + static_cast<uint32_t>(random() % (uint64_t{1} << (1 + random() % 26)));
    const uint32_t width = segment::OrdinalWidth(words);
    std::vector<Ordinal> ordinals(1 + random() % 300);
    for (Ordinal& ordinal : ordinals) ordinal = static_cast<Ordinal>(random() % words);
    OrdinalSet set(words);
    std::vector<std::pair<Ordinal, Ordinal>> wanted;
    for (size_t n = random() % (round % 2 == 0 ? 4 : 40); n > 0; --n) {
      // Mostly words that are there, and what is next to them.
      const Ordinal begin = ordinals[random() % ordinals.size()] + (random() % 3 == 0 ? 1 : 0);
      const auto end = static_cast<Ordinal>(std::min<uint64_t>(words, begin + random() % 3 * (random() % 50)));
      set.Add(begin, end);
      wanted.emplace_back(begin, end);
    }
    set.Seal();
    // Bytes behind the packed ones are there, as in a file, and mean nothing.
    const std::string packed = Pack(ordinals, width) + std::string(32, static_cast<char>(random()));
    for (size_t at = 0; at < ordinals.size(); at += OrdinalSet::kBlock) {
      const auto count = static_cast<uint32_t>(std::min(OrdinalSet::kBlock, ordinals.size() - at));
      Ordinal read[OrdinalSet::kBlock];
      const uint64_t found = set.Match(packed.data(), at * width, count, width, read);
      for (uint32_t i = 0; i < OrdinalSet::kBlock; ++i) {
        const bool in = i < count && std::any_of(wanted.begin(), wanted.end(), [&](const auto& range) {
          return ordinals[at + i] >= range.first && ordinals[at + i] < range.second;
        });
        ASSERT_EQ((found >> i & 1) != 0, in) << "round " << round << ", word " << at + i << " of width " << width;
        if (in) ASSERT_EQ(read[i], ordinals[at + i]);
      }
    }
  }
}

}  // namespace
}  // namespace gannet::search
