#include "index/external_id.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "test_seed.h"

namespace gannet::index {
namespace {

TEST(ExternalIdKey, NumbersTakeTheBytesThatTheyNeed) {
  using namespace std::string_literals;
  EXPECT_EQ(ExternalIdKey("0"), "\1\0"s);
  EXPECT_EQ(ExternalIdKey("255"), "\1\xff"s);
  EXPECT_EQ(ExternalIdKey("256"), "\2\1\0"s);
  EXPECT_EQ(ExternalIdKey("9999999999999999999"), "\x8\x8a\xc7\x23\x04\x89\xe7\xff\xff"s);
  for (const char* text : {"007", "-1", "-0", "18446744073709551616", "10000000000000000000", "1.5",
                           "1e3", "a1", "1a", "_"}) {
    EXPECT_EQ(ExternalIdKey(text), text);
  }
}

TEST(ExternalIdKey, OtherBytesAreNoKey) {
  using namespace std::string_literals;
  // Too long, too short, a leading zero, a number written as text.
  const std::string keys[] = {""s,
                              "\1"s,
                              "\0"s,
                              "\2\0\1"s,
                              "\1\1\1"s,
                              "12"s,
                              "\x8\xff\xff\xff\xff\xff\xff\xff\xff"s,
                              "\x9\1\1\1\1\1\1\1\1\1"s};
  for (const std::string& key : keys) {
    EXPECT_EQ(ExternalIdOfKey(key), std::nullopt);
  }
}

std::string RandomId(std::mt19937_64& random) {
  static constexpr std::string_view kCharacters =
      "0123456789012345678901234567890123456789abcXYZ-_";
  if (random() % 2 == 0) return std::to_string(random() >> random() % 64);
  std::string id;
  for (uint64_t length = 1 + random() % (random() % 8 == 0 ? 511 : 6); length > 0; --length)
    id += kCharacters[random() % kCharacters.size()];
  return id;
}

TEST(ExternalIdKey, IsUndoneAndInOrder) {
  std::mt19937_64 random(TestSeed());
  for (int i = 0; i < 200'000; ++i) {
    const std::string a = RandomId(random), b = RandomId(random);
    const std::string key = ExternalIdKey(a), other = ExternalIdKey(b);
    ASSERT_EQ(ExternalIdOfKey(key), a);
    ASSERT_LE(key.size(), std::max<size_t>(a.size(), 2)) << a;
    ASSERT_EQ(HasKeyBefore(a, b), key < other) << a << " and " << b;
  }
}

}  // namespace
}  // namespace gannet::index
