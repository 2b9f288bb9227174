#include "text/ascii_blocks.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace gannet::text {
namespace {

struct Classified {
  bool clean;
  std::vector<bool> word, hard;
  std::string lower;

  bool operator==(const Classified&) const = default;
};

Classified Unpack(bool clean, size_t size, const std::string& lower,
                  const std::vector<AsciiBlock>& blocks) {
  Classified result{clean, {}, {}, {}};
  if (!clean) return result;
  for (size_t i = 0; i < size; ++i) {
    result.word.push_back(blocks[i / 64].word >> (i % 64) & 1);
    result.hard.push_back(blocks[i / 64].hard >> (i % 64) & 1);
  }
  result.lower = lower.substr(0, size);
  return result;
}

TEST(AsciiBlocksTest, AgreesWithOneLookAtEachByte) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::string separators = " ,.!?;-_\n/";
  const std::string hards = "!?;";
  AsciiBlocks blocks;
  for (const char c : separators) {
    blocks.AddSeparator(static_cast<uint8_t>(c), hards.find(c) != std::string::npos);
  }
  blocks.AddUnclean(0x01);
  blocks.AddUnclean(0x7f);

  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 200, 'x');
    const bool any_byte = random() % 8 == 0;
    for (char& c : text) {
      c = static_cast<char>(any_byte            ? random()
                            : random() % 2 == 0 ? 0x20 + random() % 0x5f
                                                : separators[random() % separators.size()]);
    }

    Classified expected{true, {}, {}, text};
    for (size_t i = 0; i < text.size(); ++i) {
      const uint8_t c = static_cast<uint8_t>(text[i]);
      if (c >= 0x80 || c == 0x01 || c == 0x7f) expected.clean = false;
      expected.word.push_back(separators.find(text[i]) == std::string::npos);
      expected.hard.push_back(hards.find(text[i]) != std::string::npos ||
                              (c == ' ' && i > 0 && (text[i - 1] == ',' || text[i - 1] == '.')));
      if (c >= 'A' && c <= 'Z') expected.lower[i] = static_cast<char>(c + 32);
    }
    if (!expected.clean) expected = {false, {}, {}, {}};

    const size_t count = (text.size() + 63) / 64;
    std::vector<AsciiBlock> masks(count);
    std::string lower(64 * count, '\0');
    bool clean = blocks.Classify(text, lower.data(), masks.data());
    ASSERT_TRUE(Unpack(clean, text.size(), lower, masks) == expected) << text;
    if (clean && text.size() % 64 != 0) {
      ASSERT_EQ(masks.back().word >> (text.size() % 64), 0u);
      ASSERT_EQ(masks.back().hard >> (text.size() % 64), 0u);
    }
    masks.assign(count, {});
    clean = blocks.ClassifyPortably(text, lower.data(), masks.data());
    ASSERT_TRUE(Unpack(clean, text.size(), lower, masks) == expected) << text;
  }
}

}  // namespace
}  // namespace gannet::text
