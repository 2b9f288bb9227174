#include "search/federation/request.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gannet::search {
namespace {

FederatedRequest Parse(const std::string& text) {
  auto request = FederatedRequest::FromJson(json::Value::Parse(text));
  EXPECT_TRUE(request.ok()) << request.status().message();
  return std::move(*request);
}

TEST(FederatedRequest, HasWhatItMustHave) {
  const FederatedRequest request = Parse(
      R"({"federation":{"offset":0,"limit":20},"queries":[{"indexUid":"a","federationOptions":{"weight":1}},
          {"indexUid":"b","federationOptions":{"weight":1}}]})");
  EXPECT_EQ(request.window.offset, 0u);
  EXPECT_EQ(request.window.end(), 20u);
  EXPECT_FALSE(request.window.requested.numbered);
  EXPECT_FALSE(request.distinct || request.merge_facets || request.request_uid);
  EXPECT_FALSE(request.for_merging() || request.counts_values());
  EXPECT_TRUE(request.metadata.empty());
  ASSERT_EQ(request.queries.size(), 2u);
  EXPECT_EQ(request.queries[1].uid, "b");
  EXPECT_EQ(request.queries[1].weight, 1);
  EXPECT_EQ(request.queries[1].position, 1u) << "its position";
}

TEST(FederatedRequest, ReadsAllMembers) {
  const std::string text =
      R"({"federation":{"page":3,"hitsPerPage":4,"distinct":"year","facetsByIndex":{"a":["x"],"b":null},
          "mergeFacets":{"maxValuesPerFacet":7}},
          "queries":[{"indexUid":"a","q":"red","federationOptions":{"weight":0.5,"queryPosition":9}}],
          "otherIndexes":["b"],"merged":"elsewhere","responseBytesMax":50,"requestUid":"r","metadata":[{"queryUid":"q"}]})";
  const FederatedRequest request = Parse(text);
  EXPECT_EQ(request.window.offset, 8u);
  EXPECT_EQ(request.window.limit, 4u);
  EXPECT_TRUE(request.window.requested.numbered);
  EXPECT_EQ(request.window.requested.page, 3u);
  EXPECT_EQ(request.distinct, "year");
  ASSERT_EQ(request.facets_by_index.size(), 2u);
  EXPECT_EQ(request.facets_by_index[0].uid, "a");
  EXPECT_EQ(request.facets_by_index[0].facets, (std::vector<std::string>{"x"}));
  EXPECT_FALSE(request.facets_by_index[1].facets.has_value());
  EXPECT_EQ(request.merge_facets->values_max, 7u);
  EXPECT_EQ(request.queries[0].search.q, "red");
  EXPECT_EQ(request.queries[0].weight, 0.5);
  EXPECT_EQ(request.queries[0].position, 9u);
  EXPECT_EQ(request.other_indexes, (std::vector<std::string>{"b"}));
  EXPECT_TRUE(request.for_merging() && request.counts_values());
  EXPECT_EQ(request.response_bytes_max, 50u);
  EXPECT_EQ(request.request_uid, "r");
  EXPECT_EQ(request.metadata, R"([{"queryUid":"q"}])");
}

TEST(FederatedRequest, IsRefusedWithoutItsDefaults) {
  const std::string page = R"("offset":0,"limit":20)";
  const std::string query = R"({"indexUid":"a","federationOptions":{"weight":1}})";
  const auto fault = [](const std::string& federation, const std::string& queries) {
    const std::string text = "{\"federation\":{" + federation + "},\"queries\":[" + queries + "]}";
    const auto request = FederatedRequest::FromJson(json::Value::Parse(text));
    return request.ok() ? "" : request.status().message();
  };
  EXPECT_EQ(fault(page, query), "");
  EXPECT_EQ(fault(R"("offset":0)", query), "the request lacks `limit`");
  EXPECT_EQ(fault(R"("page":1)", query), "the request lacks `hitsPerPage`");
  EXPECT_EQ(fault(page, R"({"indexUid":"a"})"), "the request lacks `federationOptions.weight`");
  for (const std::string name : {"groupBy", "networkGroups"}) {
    const std::string groups = page + ",\"" + name + R"(":{"attribute":"a")";
    EXPECT_EQ(fault(groups + "}", query), "the request lacks `groupBy.hits`") << name;
    EXPECT_EQ(fault(groups + R"(,"hits":3})", query), "") << name;
  }
}

TEST(MergedWindow, HasThePositionsOfThePage) {
  struct Case {
    const char* federation;
    uint64_t offset, end;
  };
  for (const Case& one : {
           Case{R"({"offset":5,"limit":10})", 5, 15},
           Case{R"({"offset":5,"limit":0})", 5, 5},
           Case{R"({"offset":5,"limit":18446744073709551615})", 5, UINT64_MAX},
           Case{R"({"page":2,"hitsPerPage":20})", 20, 40},
           Case{R"({"page":0,"hitsPerPage":10})", 0, 0},
           Case{R"({"page":5,"hitsPerPage":0})", 0, 0},
           Case{R"({"page":18446744073709551615,"hitsPerPage":10})", UINT64_MAX, UINT64_MAX},
       }) {
    const MergedWindow window =
        MergedWindow::Of(*PageMembers::FromJson(json::Value::Parse(one.federation)));
    EXPECT_EQ(window.offset, one.offset) << one.federation;
    EXPECT_EQ(window.end(), one.end) << one.federation;
    EXPECT_EQ(window.Has(window.offset), one.offset < one.end) << one.federation;
    EXPECT_FALSE(window.Has(one.end)) << one.federation;
  }
}

}  // namespace
}  // namespace gannet::search
