#include "search/request.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "search/complete_request.h"

namespace gannet::search {
namespace {

SearchRequest Parse(std::string_view text) {
  auto request = SearchRequest::FromJson(json::Value::Parse(text));
  EXPECT_TRUE(request.ok()) << text << request.status().message();
  return request.ok() ? std::move(*request) : SearchRequest();
}

// Why a request, or its page, is refused.
std::string FaultOf(std::string_view text) {
  const json::Value object = json::Value::Parse(text);
  const auto request = SearchRequest::FromJson(object);
  if (!request.ok()) return request.status().message();
  const auto page = PageMembers::FromJson(object);
  return page.ok() ? "" : page.status().message();
}

TEST(SearchRequest, IsRefusedWithoutItsDefaults) {
  const std::pair<std::string, const char*> cases[] = {
      {R"("q":"a")", "offset"},
      {R"("limit":20)", "offset"},
      {R"("offset":0,"limit":null)", "limit"},
      {R"("page":2)", "hitsPerPage"},
      {R"("hitsPerPage":2)", "page"},
      {R"("hybrid":{"embedder":"e"})", "hybrid.semanticRatio"},
      {R"("diversity":{"attribute":"a"})", "diversity.max"},
      {R"("groupBy":{"attribute":"a"})", "groupBy.hits"},
      {R"("groupBy":{"attribute":"a","hits":3,"page":1})", "groupBy.limit"},
      {R"("attributesToHighlight":["*"],"highlightPreTag":"")", "highlightPostTag"},
      {R"("attributesToCrop":[],"cropMarker":"")", "cropLength"},
  };
  for (const auto& [members, name] : cases)
    EXPECT_EQ(FaultOf("{" + members + "}"), "the request lacks `" + std::string(name) + "`");
  EXPECT_EQ(FaultOf("{" + kPageMembers + "}"), "");
  EXPECT_EQ(FaultOf(Complete(R"("attributesToHighlight":["*"],"attributesToCrop":["*"])")), "");
}

TEST(SearchRequest, AbsentAndNullParametersAreEmpty) {
  for (const char* text :
       {"{}", R"({"q":null,"limit":null,"page":null,"facets":null,"hybrid":null,"filter":null})"}) {
    const SearchRequest request = Parse(text);
    EXPECT_EQ(request.q, "");
    EXPECT_FALSE(request.page.numbered);
    EXPECT_EQ(request.kind(), SearchKind::kWords);
    EXPECT_TRUE(request.filter.empty());
    EXPECT_TRUE(request.facets.empty());
    EXPECT_FALSE(request.attributes_to_retrieve.has_value());
    EXPECT_EQ(request.strategy, std::nullopt);
    EXPECT_EQ(request.response_bytes_max, UINT64_MAX);
    EXPECT_TRUE(request.needs_candidates);
  }
}

TEST(SearchRequest, ReadsAllMembers) {
  const SearchRequest request = Parse(
      R"({"q":"red sea","segmentation":[0,4],"sort":["year:asc"],"distinct":"id",
          "facets":["*"],"attributesToRetrieve":["title"],"attributesToSearchOn":["title"],
          "attributesToHighlight":["*"],"attributesToCrop":["text:5"],"cropLength":7,"cropMarker":"..",
          "highlightPreTag":"<b>","highlightPostTag":"</b>","showMatchesPosition":true,
          "matchingStrategy":"frequency","showRankingScore":true,"showRankingScoreDetails":true,
          "rankingScoreThreshold":0.25,"retrieveVectors":true,"containsFilter":true,"multimodal":true,
          "locales":["eng"],"responseBytesMax":1000})");
  EXPECT_EQ(request.q, "red sea");
  EXPECT_EQ(request.word_starts, (std::vector<uint32_t>{0, 4}));
  EXPECT_EQ(request.sort, (std::vector<std::string>{"year:asc"}));
  EXPECT_EQ(request.distinct, "id");
  EXPECT_EQ(request.facets, (std::vector<std::string>{"*"}));
  EXPECT_EQ(request.attributes_to_retrieve, (std::vector<std::string>{"title"}));
  EXPECT_EQ(request.attributes_to_search_on, (std::vector<std::string>{"title"}));
  EXPECT_EQ(request.format.highlight, (std::vector<std::string>{"*"}));
  EXPECT_EQ(request.format.crop, (std::vector<std::string>{"text:5"}));
  EXPECT_EQ(request.format.crop_length, 7u);
  EXPECT_EQ(request.format.crop_marker, "..");
  EXPECT_EQ(request.format.pre_tag, "<b>");
  EXPECT_EQ(request.format.post_tag, "</b>");
  EXPECT_TRUE(request.format.matches_position);
  EXPECT_EQ(request.strategy, MatchingStrategy::kFrequency);
  EXPECT_TRUE(request.show_score && request.show_details && request.retrieve_vectors);
  EXPECT_TRUE(request.contains_filter && request.multimodal);
  EXPECT_EQ(request.threshold, 0.25);
  EXPECT_EQ(request.locales.size(), 1u);
  EXPECT_EQ(request.response_bytes_max, 1000u);
  EXPECT_EQ(request.format.bytes_max, 1000u);
}

TEST(SearchRequest, ReadsDiversityAndWhatFacetsMeasure) {
  const SearchRequest request = Parse(
      R"({"diversity":{"attribute":"brand","max":2},"facets":"auto",
          "facetStats":{"price":{"percentiles":[50,99.5],"histogram":{"buckets":3}},"a":{}}})");
  EXPECT_EQ(request.diversity->attribute, "brand");
  EXPECT_EQ(request.diversity->max, 2u);
  EXPECT_TRUE(request.automatic_facets && request.has_facets());
  EXPECT_EQ(request.facets, (std::vector<std::string>{"a", "price"}));
  EXPECT_EQ(request.measures.at("price").percentiles, (std::vector<double>{50, 99.5}));
  EXPECT_EQ(request.measures.at("price").buckets, 3u);
  EXPECT_EQ(request.measures.at("a").buckets, 0u);
}

TEST(SearchRequest, KeepsAFilterAsItsText) {
  const std::string text = R"({"filter":["a = 1",["b = 2","c = 3"]]})";
  EXPECT_EQ(Parse(text).filter, R"(["a = 1",["b = 2","c = 3"]])");
}

TEST(SearchRequest, ReadsVectorsFromBase64) {
  // 1.0 and -2.5 in single precision, little endian.
  const SearchRequest request = Parse(
      R"({"hybrid":{"embedder":"e","semanticRatio":0.75,"minScore":0.5},"vector":"AACAPwAAIMA="})");
  ASSERT_TRUE(request.vector.has_value());
  EXPECT_EQ(*request.vector, (std::vector<float>{1.0f, -2.5f}));
  EXPECT_EQ(request.hybrid->embedder, "e");
  EXPECT_EQ(request.hybrid->ratio, 0.75);
  EXPECT_EQ(request.hybrid->min_score, 0.5);
  EXPECT_EQ(request.kind(), SearchKind::kHybrid);
  EXPECT_EQ(Parse(R"({"vector":""})").vector->size(), 0u);
  EXPECT_EQ(Parse(R"({"hybrid":{"embedder":"e","semanticRatio":1}})").kind(),
            SearchKind::kSemantic);
  const SearchRequest half = Parse(R"({"hybrid":{"embedder":"e","semanticRatio":0.5}})");
  EXPECT_FALSE(half.hybrid->min_score.has_value());
  EXPECT_FALSE(half.hybrid->fusion.has_value());
}

TEST(SearchRequest, FusesByRankIfTheStrategyIsNatural) {
  index::Settings words, natural;
  natural.default_matching_strategy = MatchingStrategy::kNatural;
  const auto fusion = [&](const std::string& more, const std::string& strategy, bool by_default) {
    return Parse(R"({"hybrid":{"embedder":"e","semanticRatio":0.5)" + more + "}" + strategy + "}")
        .FusionOf(by_default ? natural : words);
  };
  const std::string all = R"(,"matchingStrategy":"all")";
  const std::string question = R"(,"matchingStrategy":"natural")";
  EXPECT_EQ(fusion("", "", false), Fusion::kScore);
  EXPECT_EQ(fusion("", "", true), Fusion::kRrf);
  EXPECT_EQ(fusion("", all, true), Fusion::kScore);
  EXPECT_EQ(fusion("", question, false), Fusion::kRrf);
  EXPECT_EQ(fusion(R"(,"fusion":"score")", question, true), Fusion::kScore);
  EXPECT_EQ(fusion(R"(,"fusion":"rrf")", all, false), Fusion::kRrf);
}

TEST(SearchRequest, ReadsPinsInTheirOrder) {
  const SearchRequest request =
      Parse(R"({"pins":[{"id":"b","position":4},{"id":"a","position":0}]})");
  ASSERT_EQ(request.pins.size(), 2u);
  EXPECT_EQ(request.pins[0].id, "b");
  EXPECT_EQ(request.pins[0].position, 4u);
  EXPECT_EQ(request.pins[1].id, "a");
}

TEST(PageMembers, ArePositionsOfTheHitsThatCanBeReached) {
  struct Case {
    const char* request;
    uint64_t begin, end;
  };
  constexpr uint64_t kTotalMax = 1000;
  for (const Case& one : {
           Case{R"({"offset":0,"limit":20})", 0, 20},
           Case{R"({"offset":5,"limit":10})", 5, 15},
           Case{R"({"offset":0,"limit":0})", 0, 0},
           Case{R"({"offset":995,"limit":10})", 995, 1000},
           Case{R"({"offset":5000,"limit":20})", 1000, 1000},
           Case{R"({"offset":0,"limit":18446744073709551615})", 0, 1000},
           Case{R"({"page":1,"hitsPerPage":20})", 0, 20},
           Case{R"({"page":3,"hitsPerPage":7})", 14, 21},
           Case{R"({"page":1,"hitsPerPage":7})", 0, 7},
           Case{R"({"page":0,"hitsPerPage":20})", 0, 0},
           Case{R"({"page":2,"hitsPerPage":0})", 0, 0},
           Case{R"({"page":50,"hitsPerPage":21})", 1000, 1000},
           Case{R"({"page":48,"hitsPerPage":21})", 987, 1000},
           Case{R"({"page":9007199254740992,"hitsPerPage":9007199254740992})", 1000, 1000},
       }) {
    const auto page = PageMembers::FromJson(json::Value::Parse(one.request));
    ASSERT_TRUE(page.ok()) << one.request;
    const Window window = page->Positions(kTotalMax);
    EXPECT_EQ(window.begin, one.begin) << one.request;
    EXPECT_EQ(window.end, one.end) << one.request;
  }
}

}  // namespace
}  // namespace gannet::search
