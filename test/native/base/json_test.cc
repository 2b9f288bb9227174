#include "base/json.h"

#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace gannet {
namespace {

std::string JsonString(std::string_view text) {
  std::string out;
  AppendJsonString(out, text);
  return out;
}

template <typename T>
std::string JsonNumber(T value) {
  std::string out;
  AppendJsonNumber(out, value);
  return out;
}

TEST(JsonString, EscapesOnlyWhatTheRfcDemands) {
  EXPECT_EQ(JsonString(""), "\"\"");
  EXPECT_EQ(JsonString("plain / text \x7f"), "\"plain / text \x7f\"");
  EXPECT_EQ(JsonString("h\u00e9llo \u2028 \U0001f600"), "\"h\u00e9llo \u2028 \U0001f600\"");
  EXPECT_EQ(JsonString("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(JsonString("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  EXPECT_EQ(JsonString(std::string_view("\0\x1f", 2)), R"("\u0000\u001f")");
}

TEST(JsonString, AgreesWithAByteByByteReferenceAtEveryAlignment) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 40, 'x');
    const bool wild = random() % 2;
    for (char& c : text) {
      c = wild ? static_cast<char>(random()) : "abc\"\\\n\x1f\x20\x21\x80\xff\x7f"[random() % 12];
    }
    std::string expected = "\"";
    for (const char c : text) {
      const auto byte = static_cast<uint8_t>(c);
      if (c == '"' || c == '\\') {
        expected += '\\';
        expected += c;
      } else if (byte < 0x20) {
        static constexpr std::string_view kShort = "\bb\ff\nn\rr\tt";
        const size_t at = kShort.find(c);
        char escape[8];
        std::snprintf(escape, sizeof escape, at != kShort.npos ? "\\%c" : "\\u%04x",
                      at != kShort.npos ? kShort[at + 1] : byte);
        expected += escape;
      } else {
        expected += c;
      }
    }
    ASSERT_EQ(JsonString(text), expected + "\"");
  }
}

TEST(JsonNumber, LooksAsInJavaScript) {
  const std::pair<double, std::string> cases[] = {
      {0, "0"},
      {-0.0, "0"},
      {4, "4"},
      {-17, "-17"},
      {0.1, "0.1"},
      {-2.5, "-2.5"},
      {1e20, "100000000000000000000"},
      {1e21, "1e+21"},
      {1.5e21, "1.5e+21"},
      {123456789012345680000.0, "123456789012345680000"},
      {1e-6, "0.000001"},
      {1e-7, "1e-7"},
      {1.25e-7, "1.25e-7"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {18446744073709551615.0, "18446744073709552000"},
      {9007199254740993.0, "9007199254740992"},
      {0.30000000000000004, "0.30000000000000004"},
      {1234.5678, "1234.5678"},
      {std::numeric_limits<double>::infinity(), "null"},
      {std::nan(""), "null"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(JsonNumber(value), text);
}

TEST(JsonNumber, PrintsIntegersExactly) {
  EXPECT_EQ(JsonNumber(std::numeric_limits<uint64_t>::max()), "18446744073709551615");
  EXPECT_EQ(JsonNumber(std::numeric_limits<int64_t>::min()), "-9223372036854775808");
  EXPECT_EQ(JsonNumber(uint32_t{7}), "7");
  EXPECT_EQ(JsonNumber(-7), "-7");
}

TEST(JsonNumber, ReadsBackToTheSameDouble) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  for (int round = 0; round < 100000; ++round) {
    const double value =
        round % 2 ? std::bit_cast<double>(random())
                  : std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 80) - 70);
    if (!std::isfinite(value)) continue;
    const std::string text = JsonNumber(value);
    double back = 0;
    const auto end = std::from_chars(text.data(), text.data() + text.size(), back);
    ASSERT_EQ(end.ptr, text.data() + text.size()) << text;
    ASSERT_EQ(back, value) << text;
  }
}

TEST(JsonFloats, AreTheShortestThatReadBackAndLookLikeFractions) {
  std::string out;
  AppendJsonFloats(out, std::vector<float>{0.1f, -2, 1e-7f});
  EXPECT_EQ(out, "[0.1,-2.0,1e-07]");
  out.clear();
  AppendJsonFloats(out, {});
  EXPECT_EQ(out, "[]");
}

}  // namespace
}  // namespace gannet
