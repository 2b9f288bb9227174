#include "segment/spool.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "test_seed.h"

namespace gannet::segment {
namespace {

TEST(Spool, GivesBackWhatWasAppended) {
  std::mt19937_64 random(TestSeed());
  for (const size_t parts : {0, 1, 3, 200}) {  // of up to 100 KB: some fit in memory, some do not
    Spool spool(std::filesystem::temp_directory_path());
    std::string expected;
    for (size_t i = 0; i < parts; ++i) {
      const std::string part(random() % 100'000, static_cast<char>(random()));
      spool.buffer() += part;
      expected += part;
      EXPECT_EQ(spool.size(), expected.size());
      spool.Settle();
    }
    const auto bytes = spool.Bytes();
    ASSERT_TRUE(bytes.ok());
    EXPECT_TRUE(*bytes == expected);
  }
}

TEST(Spool, ReportsThatItsFileCannotBeCreated) {
  Spool spool("/nonexistent");
  spool.buffer().resize(8 << 20);
  spool.Settle();
  spool.buffer() += "more";
  EXPECT_FALSE(spool.Bytes().ok());
}

}  // namespace
}  // namespace gannet::segment
