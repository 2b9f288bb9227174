#include "search/matching/word_roles.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <string>

#include "search/matching/packed.h"
#include "test_seed.h"

namespace gannet::search {
namespace {

TEST(OrdinalSet, FindsTheSameAsOneTestPerWord) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 2000; ++round) {
    const uint32_t words =
        1 + static_cast<uint32_t>(random() % (uint64_t{1} << (1 + random() % 26)));
    const uint32_t width = segment::OrdinalWidth(words);
    std::vector<Ordinal> ordinals(1 + random() % 300);
    for (Ordinal& ordinal : ordinals) ordinal = static_cast<Ordinal>(random() % words);
    OrdinalSet set(words);
    std::vector<std::pair<Ordinal, Ordinal>> wanted;
    for (size_t n = random() % (round % 2 == 0 ? 4 : 40); n > 0; --n) {
      // Mostly words of the record and their neighbors.
      const Ordinal begin = ordinals[random() % ordinals.size()] + (random() % 3 == 0 ? 1 : 0);
      const auto end =
          static_cast<Ordinal>(std::min<uint64_t>(words, begin + random() % 3 * (random() % 50)));
      set.Add(begin, end);
      wanted.emplace_back(begin, end);
    }
    set.Seal();
    // As in a file, there are bytes after the packed ordinals, without meaning.
    const std::string packed = Pack(ordinals, width) + std::string(32, static_cast<char>(random()));
    for (size_t at = 0; at < ordinals.size(); at += OrdinalSet::kBlock) {
      const auto count = static_cast<uint32_t>(std::min(OrdinalSet::kBlock, ordinals.size() - at));
      Ordinal read[OrdinalSet::kBlock];
      const uint64_t found = set.Match(packed.data(), at * width, count, width, read);
      for (uint32_t i = 0; i < OrdinalSet::kBlock; ++i) {
        const bool in =
            i < count && std::any_of(wanted.begin(), wanted.end(), [&](const auto& range) {
              return ordinals[at + i] >= range.first && ordinals[at + i] < range.second;
            });
        ASSERT_EQ((found >> i & 1) != 0, in)
            << "round " << round << ", word " << at + i << " of width " << width;
        if (in) ASSERT_EQ(read[i], ordinals[at + i]);
      }
    }
  }
}

TEST(MatchRoles, FindsTheSameAsOneTestPerWordAtEveryWidth) {
  std::mt19937_64 random(TestSeed());
  GuardedBytes memory;
  constexpr size_t kRoles = 8, kStride = 6;
  for (uint32_t width = 1; width <= 32; ++width) {
    for (int round = 0; round < 60; ++round) {
      const uint64_t dictionary = uint64_t{1} << width;  // ordinals are less than this
      std::vector<Ordinal> ordinals(random() % 5 == 0 ? random() % 3 : random() % 301);
      const uint64_t common = 1 + random() % std::min<uint64_t>(dictionary, 1000);
      for (Ordinal& ordinal : ordinals) {
        // The largest ordinals have all bits set.
        const uint64_t drawn = random() % (random() % 2 == 0 ? dictionary : common);
        ordinal = static_cast<Ordinal>(random() % 2 == 0 ? drawn : dictionary - 1 - drawn);
      }
      std::vector<RoleRange> ranges(random() % (kRoleRangesMax + 1));
      for (RoleRange& range : ranges) {
        const uint64_t begin = ordinals.empty() || random() % 4 == 0
                                   ? random() % dictionary
                                   : ordinals[random() % ordinals.size()];
        const uint64_t greatest = std::min<uint64_t>(dictionary, ~Ordinal{0});
        const uint64_t end = random() % 8 == 0
                                 ? greatest
                                 : std::min(greatest, begin + random() % 3 * (1 + random() % 50));
        range = {static_cast<Ordinal>(begin), static_cast<Ordinal>(end),
                 static_cast<Role>(random() % kRoles)};
      }
      const std::string_view packed =
          memory.Put(Pack(ordinals, width), static_cast<char>(random()));
      std::vector<uint64_t> masks(kRoles * kStride);
      for (uint64_t& mask : masks) mask = random();
      std::vector<uint64_t> expected = masks;
      for (const RoleRange& range : ranges)
        std::fill_n(expected.begin() + range.role * kStride, (ordinals.size() + 63) / 64, 0);
      for (const RoleRange& range : ranges) {
        for (size_t i = 0; i < ordinals.size(); ++i) {
          if (ordinals[i] >= range.begin && ordinals[i] < range.end)
            expected[range.role * kStride + i / 64] |= uint64_t{1} << i % 64;
        }
      }
      MatchRoles(ranges, {packed.data(), 0, static_cast<uint32_t>(ordinals.size()), width},
                 masks.data(), kStride);
      ASSERT_EQ(masks, expected) << "width " << width << ", " << ordinals.size() << " words, "
                                 << ranges.size() << " ranges";
    }
  }
}

}  // namespace
}  // namespace gannet::search
