#include "search/allowed_documents.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "index/indexed_documents.h"

namespace gannet::search {
namespace {

class AllowedDocumentsOf : public testing::Test {
 protected:
  AllowedDocumentsOf() : index_(R"({"filterableAttributes":["n"]})") {
    index_.Put({{0, R"({"n":1})"}, {1, R"({"n":2})"}, {2, R"({"n":1})"}});
  }
  Result<std::optional<DocSet>> Allowed(const SearchRequest& request) {
    Deadline deadline = DeadlineOf(*index_.snapshot(), request);
    return AllowedDocuments(*index_.snapshot(), request, deadline);
  }
  static std::shared_ptr<const DocSet> Set(std::vector<uint32_t> docids) {
    return std::make_shared<const DocSet>(DocSet::FromSorted(docids));
  }

  IndexedDocuments index_;
};

TEST_F(AllowedDocumentsOf, AreAllWithoutRestrictions) { EXPECT_FALSE(Allowed({})->has_value()); }

TEST_F(AllowedDocumentsOf, MeetTheFilterAndAreNotExcluded) {
  SearchRequest request;
  request.filter = "\"n = 1\"";
  EXPECT_EQ(**Allowed(request), *Set({0, 2}));
  request.excluded = Set({2});
  EXPECT_EQ(**Allowed(request), *Set({0}));
  request.filter.clear();
  EXPECT_EQ(**Allowed(request), *Set({0, 1}));
}

TEST_F(AllowedDocumentsOf, AreThoseFoundBefore) {
  SearchRequest request;
  request.filter = "\"n = 1\"";
  request.matching = Set({1});
  EXPECT_EQ(**Allowed(request), *Set({1}));
}

TEST_F(AllowedDocumentsOf, RefuseAFieldThatIsNotFilterable) {
  SearchRequest request;
  request.filter = "\"m = 1\"";
  const auto allowed = Allowed(request);
  ASSERT_FALSE(allowed.ok());
  EXPECT_EQ(allowed.status().detail(), "invalid_search_filter");
}

}  // namespace
}  // namespace gannet::search
