#include "search/page.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json_value.h"

namespace gannet::search {
namespace {

using Keys = std::vector<std::vector<ForeignKey>>;

const Keys kKeys = {{{"a", "x"}, {"b", "y.z"}}};

Page PageOf(const std::vector<std::string>& hits, size_t pinned = SIZE_MAX,
            uint64_t bytes_max = 1'000'000) {
  Page page(bytes_max);
  page.text = "{\"hits\":[";
  for (size_t i = 0; i < hits.size(); ++i) {
    page.BeginHit();
    page.text += hits[i];
    EXPECT_TRUE(page.EndHit(0, i == pinned).ok());
  }
  page.rest = ",\"query\":\"x\"";
  return page;
}

std::string BodyOf(Page& page) { return page.Write()->body; }

std::string ListOf(const ForeignIds& ids) {
  std::string out;
  ids.Append(out);
  return out;
}

// A document for each id; its member `id` is a text.
std::shared_ptr<const ForeignDocuments> DocumentsOf(const std::vector<std::string>& ids,
                                                    const std::string& more, bool hides = false) {
  auto listing = std::make_shared<std::string>("{\"results\":[");
  for (const std::string& id : ids) {
    if (&id != &ids[0]) *listing += ',';
    *listing += "{\"id\":\"" + id + "\"" + more + "}";
  }
  *listing += "]}";
  return std::make_shared<const ForeignDocuments>(*listing, "id", hides, listing);
}

TEST(Page, OrdersHitsByScoresButThosePinnedAndThoseWithout) {
  const std::vector<std::string> hits = {"0", "1", "2", "3", "4"};
  Page page = PageOf(hits, 1);
  page.Choose({0, 5}, false);
  page.Reorder(std::vector<double>{0, 9, 7, 7});
  EXPECT_EQ(BodyOf(page), R"({"hits":[2,1,3,0,4],"query":"x"})");
}

TEST(Page, KeepsTheHitsThatWereChosen) {
  for (const auto& [window, expected] :
       std::vector<std::pair<Window, std::string>>{{{1, 3}, "1,0"}, {{2, 9}, "0"}, {{3, 5}, ""}}) {
    Page page = PageOf({"0", "1", "2"});
    page.Choose(window, false);
    page.Reorder(std::vector<double>{1, 2, 3});
    const uint64_t bytes = page.bytes();
    const std::string body = BodyOf(page);
    EXPECT_EQ(body, "{\"hits\":[" + expected + "],\"query\":\"x\"}");
    EXPECT_EQ(bytes, body.size());
  }
}

TEST(Page, SaysWhatIsMissing) {
  Page page = PageOf({"0", "1"});
  page.Choose({0, 1}, true);
  page.Reorder(std::nullopt);
  EXPECT_EQ(page.Write(",\"details\":{}")->body,
            R"({"hits":[0],"query":"x","degraded":["embedding","rerank"],"details":{}})");
}

TEST(Page, ReplacesIdsAndNothingElse) {
  Page page = PageOf({R"({"n":1.0,"x":7,"y":[{"z":"p\u0071"},{"z":["r",null,2.5,-0]}]})",
                      R"({"x":7,"t":"é世","w":{"x":7},"_formatted":{"x":"7","y":{"z":"r"}}})"});
  const auto ids = std::make_shared<ForeignIds>();
  page.FindReferences(kKeys, ids);
  EXPECT_EQ(ListOf(*ids), R"([{"uid":"a","ids":["7"]},{"uid":"b","ids":["pq","r","0"]}])");
  page.Attach("a", DocumentsOf({"7"}, ",\"big\":12345678901234567890"));
  page.Attach("b", DocumentsOf({"pq", "0"}, ",\"m\":1.50", true));
  const std::string a = R"({"id":"7","big":12345678901234567890})", b = R"({"m":1.50})";
  EXPECT_EQ(BodyOf(page), R"({"hits":[{"n":1.0,"x":)" + a + R"(,"y":[{"z":)" + b +
                              R"(},{"z":[{},null,2.5,)" + b + R"(]}]},{"x":)" + a +
                              R"(,"t":"é世","w":{"x":7},"_formatted":{"x":)" + a +
                              R"(,"y":{"z":{}}}}],"query":"x"})");
}

TEST(Page, NamesIndexesThatNoHitRefersTo) {
  const auto none = std::make_shared<ForeignIds>(), empty = std::make_shared<ForeignIds>();
  Page page = PageOf({});
  page.FindReferences(kKeys, none);
  EXPECT_EQ(ListOf(*none), "[]") << "without hits nothing is asked";
  EXPECT_EQ(BodyOf(page), R"({"hits":[],"query":"x"})");
  PageOf({"{}"}).FindReferences(kKeys, empty);
  EXPECT_EQ(ListOf(*empty), R"([{"uid":"a","ids":[]},{"uid":"b","ids":[]}])");
}

TEST(Page, LeavesIdsWithoutDocuments_AndLetsTheLastKeyCount) {
  const Keys keys = {{{"a", "x"}, {"b", "x"}, {"c", "x"}}};
  Page page = PageOf({R"({"x":["1","2"]})"});
  page.FindReferences(keys, std::make_shared<ForeignIds>());
  Page other = PageOf({R"({"x":"1"})"});
  other.FindReferences(keys, std::make_shared<ForeignIds>());
  page.Attach("a", DocumentsOf({"1", "2"}, ""));
  page.Attach("b", DocumentsOf({"1"}, ""));
  EXPECT_EQ(BodyOf(page), R"({"hits":[{"x":[{"id":"1"},{}]}],"query":"x"})");
  EXPECT_EQ(BodyOf(other), R"({"hits":[{"x":"1"}],"query":"x"})");
}

TEST(Page, CollectsIdsOfSeveralPagesOnce_AsManyAsOneMayName) {
  const auto ids = std::make_shared<ForeignIds>();
  Page first = PageOf({R"({"x":1})"}), second = PageOf({R"({"x":["3",1]})"});
  first.FindReferences(kKeys, ids);
  second.FindReferences(kKeys, ids);
  EXPECT_EQ(ListOf(*ids), R"([{"uid":"a","ids":["1","3"]},{"uid":"b","ids":[]}])");
  for (const size_t count : {ForeignIds::kMax, ForeignIds::kMax + 1}) {
    std::string list = "{\"x\":[0";
    for (size_t i = 1; i < count; ++i) list += ',' + std::to_string(i);
    const auto many = std::make_shared<ForeignIds>();
    PageOf({list + "]}"}).FindReferences(kKeys, many);
    EXPECT_EQ(ListOf(*many).find("tooMany") != std::string::npos, count > ForeignIds::kMax);
  }
}

TEST(Page, IsRefusedWhereItWouldBeTooLarge) {
  const std::string hit = R"({"x":[1,1,1]})";
  const std::string long_text = ",\"t\":\"" + std::string(300, 'x') + '"';
  Page page = PageOf({hit}, SIZE_MAX, 1000);
  page.FindReferences(kKeys, std::make_shared<ForeignIds>());
  page.Attach("a", DocumentsOf({"1"}, long_text));
  EXPECT_TRUE(page.Write().ok());
  Page larger = PageOf({hit}, SIZE_MAX, 900);
  larger.FindReferences(kKeys, std::make_shared<ForeignIds>());
  larger.Attach("a", DocumentsOf({"1"}, long_text));
  EXPECT_EQ(larger.Write().status().detail(), "bad_request");
}

}  // namespace
}  // namespace gannet::search
