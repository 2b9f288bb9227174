#include "search/response.h"

#include <gtest/gtest.h>

#include <string>

namespace gannet::search {
namespace {

std::string PageText(const PageMembers& page, uint64_t total) {
  std::string out;
  AppendPage(page, total, out);
  return out;
}

TEST(AppendPage, HasLimitAndOffsetOrTheNumberOfThePage) {
  EXPECT_EQ(PageText({.offset = 2, .limit = 5}, 9),
            R"(,"limit":5,"offset":2,"estimatedTotalHits":9)");
  EXPECT_EQ(PageText({.numbered = true, .page = 3, .per_page = 4}, 9),
            R"(,"hitsPerPage":4,"page":3,"totalPages":3,"totalHits":9)");
  EXPECT_EQ(PageText({.numbered = true, .page = 1, .per_page = 3}, 9),
            R"(,"hitsPerPage":3,"page":1,"totalPages":3,"totalHits":9)");
  EXPECT_EQ(PageText({.numbered = true, .page = 1, .per_page = 0}, 9),
            R"(,"hitsPerPage":0,"page":1,"totalPages":0,"totalHits":9)");
}

TEST(CheckResponseSize, RefusesLargerResponses) {
  EXPECT_TRUE(CheckResponseSize("1234", 4).ok());
  const Status status = CheckResponseSize("12345", 4);
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(status.detail(), "bad_request");
}

}  // namespace
}  // namespace gannet::search
