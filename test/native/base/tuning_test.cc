#include "base/tuning.h"

#include <cstdlib>
#include <string_view>

#include <gtest/gtest.h>

#include "base/cpu.h"

namespace gannet {
namespace {

// The variable GANNET_TEST_CPU of the test program: `portable` or `avx2`, so that runs can cover
// each variant of the hot loops.
CpuLevel RequestedLevel() {
  const char* given = std::getenv("GANNET_TEST_CPU");
  const std::string_view level = given == nullptr ? "" : given;
  return level == "portable" ? CpuLevel::kPortable
         : level == "avx2"   ? CpuLevel::kAvx2
                             : CpuLevel::kAvx512;
}

const bool kIsSet = [] {
  Tuning tuning;
  tuning.cpu_max = RequestedLevel();
  SetTuning(tuning);
  return true;
}();

TEST(TuningTest, NoVariantAboveTheHighestRuns) {
  ASSERT_TRUE(kIsSet);
  EXPECT_LE(Cpu(), RequestedLevel());
}

}  // namespace
}  // namespace gannet
