// How many random comparisons a property test makes.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "test_seed.h"

namespace gannet {

// Counts the comparisons of one property test: one result of the engine compared with the result of
// plain loops. A few by default; GANNET_COMPARISONS sets more (`npm run oracle:native`: a million
// of each). Prints the number of comparisons made.
//
//   for (Comparisons comparisons(2000); comparisons.Next();) { ... }
class Comparisons {
 public:
  explicit Comparisons(uint64_t usual) : wanted_(usual) {
    if (const char* given = std::getenv("GANNET_COMPARISONS"))
      wanted_ = std::strtoull(given, nullptr, 10);
  }
  Comparisons(const Comparisons&) = delete;
  ~Comparisons() {
    if (testing::Test::HasFatalFailure()) return;
    std::cout << testing::UnitTest::GetInstance()->current_test_info()->test_suite_name() << ": "
              << made_ << " comparisons without a difference" << std::endl;
  }

  bool Left() const { return made_ < wanted_; }
  // Counts one comparison. False: all have been made.
  bool Next() {
    if (!Left()) return false;
    ++made_;
    return true;
  }

 private:
  uint64_t wanted_, made_ = 0;
};

}  // namespace gannet
