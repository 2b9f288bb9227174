#include "base/uuid.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace gannet {
namespace {

TEST(Uuid7, HasItsFormAndIsNotRepeated) {
  std::set<std::string> all;
  for (int i = 0; i < 1000; ++i) {
    const std::string uuid = MakeUuid7();
    ASSERT_EQ(uuid.size(), 36u);
    for (size_t at = 0; at < uuid.size(); ++at) {
      const bool dash = at == 8 || at == 13 || at == 18 || at == 23;
      ASSERT_EQ(uuid[at] == '-', dash) << uuid;
      if (!dash) ASSERT_NE(std::string("0123456789abcdef").find(uuid[at]), std::string::npos);
    }
    ASSERT_EQ(uuid[14], '7') << "version";
    ASSERT_NE(std::string("89ab").find(uuid[19]), std::string::npos) << "variant";
    ASSERT_TRUE(all.insert(uuid).second);
  }
}

TEST(Uuid7, BeginsWithTheTime) {
  const std::string first = MakeUuid7().substr(0, 13), second = MakeUuid7().substr(0, 13);
  EXPECT_LE(first, second);
}

}  // namespace
}  // namespace gannet
