#include "search/federation/merge_responses.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/json_reader.h"
#include "base/json_value.h"
#include "search/federation/server_facets.h"
#include "test_seed.h"

namespace gannet::search {
namespace {

// Merges responses that are all well formed.
std::string MergedBody(const std::string& request, const std::vector<std::string>& bodies) {
  std::vector<ServerResponse> responses;
  for (const std::string& body : bodies) {
    auto response = ServerResponse::Read(body);
    EXPECT_TRUE(response.ok()) << response.status().message() << body;
    if (!response.ok()) return {};
    responses.push_back(std::move(*response));
  }
  const auto merged = MergeResponses(request, responses);
  EXPECT_TRUE(merged.ok()) << merged.status().message();
  if (!merged.ok()) return {};
  EXPECT_TRUE(json::IsValid(merged->body)) << merged->body;
  return merged->body;
}

std::string SourceText(const std::string& scores, const std::string& more = "") {
  return R"("_federation":{"indexUid":"a","queriesPosition":0,"weightedRankingScore":0.5,)"
         R"("weightedScoreValues":)" +
         scores + more + "}";
}

std::string HitText(int id, const std::string& scores, const std::string& more = "") {
  return "{\"id\":" + std::to_string(id) + "," + SourceText(scores, more) + "}";
}

std::string BodyOf(const std::vector<std::string>& hits, size_t total,
                   const std::string& more = "") {
  std::string body = "{\"hits\":[";
  for (const std::string& hit : hits) body += (body.back() == '[' ? "" : ",") + hit;
  return body + "],\"estimatedTotalHits\":" + std::to_string(total) + more + "}";
}

std::string ServersText(size_t count) {
  std::string servers = "\"servers\":[";
  for (size_t i = 0; i < count; ++i)
    servers += std::string(i > 0 ? "," : "") + R"({"name":"s)" + std::to_string(i) +
               R"(","positions":[0]})";
  return servers + "]";
}

std::string RequestOf(size_t servers, const std::string& more) {
  return "{" + ServersText(servers) + R"(,"remoteErrors":{},)" + more + "}";
}

std::vector<int> IdsOf(const std::string& body) {
  std::vector<int> ids;
  const json::Value response = json::Value::Parse(body);
  for (const json::Value& hit : response["hits"].items())
    ids.push_back(static_cast<int>(hit["id"].number()));
  return ids;
}

// Checks which of two hits of different servers comes first, with both orders of the servers.
int FirstOf(const std::string& a, const std::string& b) {
  const std::string request = RequestOf(2, R"("window":{"offset":0,"limit":2})");
  const int first =
      IdsOf(MergedBody(request, {BodyOf({HitText(1, a)}, 1), BodyOf({HitText(2, b)}, 1)}))[0];
  const int second =
      IdsOf(MergedBody(request, {BodyOf({HitText(2, b)}, 1), BodyOf({HitText(1, a)}, 1)}))[0];
  return first == second ? first : 0;
}

std::string SortText(const std::string& value, bool ascending = true) {
  return std::string(R"({"sort":{"asc":)") + (ascending ? "true" : "false") +
         ",\"value\":" + value + "}}";
}

std::string GeoText(const std::string& distance, bool ascending = true) {
  return std::string(R"({"geoSort":{"asc":)") + (ascending ? "true" : "false") +
         ",\"distance\":" + distance + "}}";
}

std::string ScoreText(const std::string& score) { return "{\"weightedScore\":" + score + "}"; }

TEST(MergeResponses, ComparesHitsPartByPart) {
  const std::pair<std::string, std::string> pairs[] = {
      {ScoreText("0.9"), ScoreText("0.8")},
      {ScoreText("0.9"), R"({"vectorSort":0.8})"},
      {ScoreText("0.9") + "," + SortText("1"), ScoreText("0.9") + "," + SortText("2")},
      {SortText("2", false), SortText("1", false)},
      {SortText("2"), SortText("\"a\"")},
      {SortText("2", false), SortText("\"a\"", false)},
      {SortText("\"z\""), SortText("null")},
      {SortText("\"z\"", false), SortText("null", false)},
      {SortText("1") + "," + ScoreText("0.1"), SortText("1")},
      {GeoText("5"), GeoText("6")},
      {GeoText("6", false), GeoText("null", false)},
      // Parts that cannot be compared are ordered by the number of remaining parts.
      {SortText("1") + "," + ScoreText("0.1"), ScoreText("0.9")},
  };
  for (const auto& [first, second] : pairs)
    EXPECT_EQ(FirstOf("[" + first + "]", "[" + second + "]"), 1) << first << second;
  EXPECT_EQ(FirstOf("[" + ScoreText("0.9848484848484849") + "]",
                    "[" + ScoreText("0.9848484848484848") + "]"),
            0);
}

TEST(MergeResponses, PutsTheEarlierQueryFirstIfHitsAreEqual) {
  std::string later = HitText(1, "[]");
  const std::string position = "\"queriesPosition\":0";
  later.replace(later.find(position), position.size(), "\"queriesPosition\":1");
  const std::string request = RequestOf(2, R"("window":{"offset":0,"limit":2})");
  EXPECT_EQ(IdsOf(MergedBody(request, {BodyOf({later}, 1), BodyOf({HitText(2, "[]")}, 1)})),
            (std::vector<int>{2, 1}));
}

TEST(MergeResponses, LetsTheScoreDecideIfPartsCannotBeCompared) {
  std::string greater = HitText(1, "[" + ScoreText("0.9") + "]");
  const std::string score = "\"weightedRankingScore\":0.5";
  greater.replace(greater.find(score), score.size(), "\"weightedRankingScore\":0.9");
  const std::string request = RequestOf(2, R"("window":{"offset":0,"limit":2})");
  EXPECT_EQ(IdsOf(MergedBody(request, {BodyOf({HitText(2, "[" + SortText("1") + "]")}, 1),
                                       BodyOf({greater}, 1)})),
            (std::vector<int>{1, 2}));
}

// A hit in the reference model.
struct ModelHit {
  int id, score, sort, document, value;  // negative value: none
  size_t server;
};

std::string WrittenHit(const ModelHit& hit) {
  std::string more = ",\"documentKey\":\"d" + std::to_string(hit.document) + "\"";
  if (hit.value >= 0) more += ",\"distinctKeys\":[\"v" + std::to_string(hit.value) + "\"]";
  return HitText(hit.id,
                 "[" + ScoreText(std::to_string(hit.score) + "e-1") + "," +
                     SortText(std::to_string(hit.sort)) + "]",
                 more);
}

TEST(MergeResponses, HasThePageOfOneSortedListWithoutDuplicates) {
  std::mt19937_64 random(TestSeed());
  const auto below = [&](uint64_t end) { return static_cast<int>(random() % end); };
  for (int round = 0; round < 500; ++round) {
    const size_t count = 1 + random() % 4;
    std::vector<std::vector<ModelHit>> lists(count);
    std::vector<ModelHit> all;
    int id = 0;
    const auto before = [](const ModelHit& a, const ModelHit& b) {
      return a.score != b.score ? a.score > b.score : a.sort < b.sort;
    };
    for (size_t server = 0; server < count; ++server) {
      for (int n = below(12); n > 0; --n)
        lists[server].push_back({id++, below(4), below(3), below(20), below(12) - 6, server});
      std::stable_sort(lists[server].begin(), lists[server].end(), before);
      all.insert(all.end(), lists[server].begin(), lists[server].end());
    }
    std::stable_sort(all.begin(), all.end(), before);
    const size_t offset = random() % 4, limit = 1 + random() % 12;
    std::set<int> documents, values;
    std::vector<int> kept;
    size_t refused = 0;
    for (const ModelHit& hit : all) {
      if (kept.size() == offset + limit) break;
      if (documents.contains(hit.document) || values.contains(hit.value)) {
        ++refused;
        continue;
      }
      documents.insert(hit.document);
      if (hit.value >= 0) values.insert(hit.value);
      kept.push_back(hit.id);
    }
    kept.erase(kept.begin(), kept.begin() + static_cast<ptrdiff_t>(std::min(offset, kept.size())));
    std::vector<std::string> bodies;
    for (const auto& list : lists) {
      std::vector<std::string> hits;
      for (const ModelHit& hit : list) hits.push_back(WrittenHit(hit));
      bodies.push_back(BodyOf(hits, hits.size()));
    }
    const std::string body =
        MergedBody(RequestOf(count, R"("window":{"offset":)" + std::to_string(offset) +
                                        ",\"limit\":" + std::to_string(limit) + "}"),
                   bodies);
    ASSERT_EQ(IdsOf(body), kept) << body;
    ASSERT_EQ(json::Value::Parse(body)["estimatedTotalHits"].integer(), all.size() - refused);
  }
}

TEST(MergeResponses, CountsValuesOfHitsAfterThePages) {
  const std::string keys = R"(,"documentKey":"d","distinctKeys":["red"])";
  std::string first = R"({"hits":[)" + HitText(1, "[]", keys) +
                      R"(],"totalHits":3,"furtherDistinctKeys":[[0,"blue"],[1,"red"]]})";
  const std::string second = R"({"hits":[],"totalHits":2,"furtherDistinctKeys":[[0,"red"],[0]]})";
  const std::string window = R"("window":{"page":1,"hitsPerPage":1})";
  const auto total = [&](const std::string& more) {
    return json::Value::Parse(MergedBody(RequestOf(2, window + more), {first, second}))["totalHits"]
        .integer();
  };
  EXPECT_EQ(total(""), 4u);
  EXPECT_EQ(total(R"(,"distinctAcrossQueries":true)"), 3u);
}

TEST(MergeResponses, CopiesHitsAndReducesTheirSource) {
  const std::string source = SourceText("[]", R"(,"documentKey":"x")");
  const std::string shown =
      R"("_federation":{"indexUid":"a","queriesPosition":0,"weightedRankingScore":0.5,"remote":"s0"})";
  // Objects with the source at each position, and the object without it.
  const std::pair<std::string, std::string> objects[] = {
      {"{ \"n\" : 1.00 , @ }", "{ \"n\" : 1.00 }"},
      {"{@ , \"n\":1e2}", "{ \"n\":1e2}"},
      {"{@}", "{}"},
      {"{\"a\":\"_federation\",@,\"b\":{\"_federation\":1}}",
       "{\"a\":\"_federation\",\"b\":{\"_federation\":1}}"},
  };
  for (const auto& [object, without] : objects) {
    const auto with = [&](const std::string& text) {
      std::string whole = object;
      return whole.replace(whole.find('@'), 1, text);
    };
    const std::string body = BodyOf({with(source)}, 1);
    const std::string given =
        MergedBody(RequestOf(1, R"("window":{"offset":0,"limit":5})"), {body});
    EXPECT_TRUE(given.starts_with("{\"hits\":[" + with(shown) + "],")) << given;
    const std::string bare =
        MergedBody(RequestOf(1, R"("shape":"search","window":{"offset":0,"limit":20})"), {body});
    EXPECT_TRUE(bare.starts_with("{\"hits\":[" + without + "],")) << bare;
  }
}

TEST(MergeResponses, WritesAFederatedBody) {
  const std::string first = BodyOf({HitText(1, R"([{"vectorSort":1}])")}, 7,
                                   R"(,"processingTimeMs":3,"semanticHitCount":1,
      "queryVectors":{"1":[1,0.5]},"metadata":[{"indexUid":"a","remote":"x"}],
      "facetsByIndex":{"a":{"distribution":{"n":{"1":1}},"stats":{"n":{"min":1,"max":1}}}})");
  const std::string second = BodyOf({}, 1, R"(,"processingTimeMs":5,
      "facetsByIndex":{"a":{"distribution":{"n":{"1":2,"x":1}},"stats":{"n":{"min":0,"max":1}}}})");
  std::string body = MergedBody(
      R"({"servers":[{"name":"me","isHere":true,"positions":[1]},{"name":null,"positions":[0]}],
      "window":{"offset":0,"limit":2},"showsMetadata":true,"faceting":{"a":null},
      "remoteErrors":{"s":{"code":"x"}}})",
      {first, second});
  const std::string uid = "\"requestUid\":\"";
  body.replace(body.find(uid) + uid.size(), 36, "U");
  const std::string wanted =
      R"({"hits":[{"id":1,"_federation":{"indexUid":"a","queriesPosition":0,)"
      R"("weightedRankingScore":0.5,"remote":"me"}}],"processingTimeMs":5,"limit":2,"offset":0,)"
      R"("estimatedTotalHits":8,"semanticHitCount":1,"queryVectors":{"1":[1.0,0.5]},)"
      R"("facetsByIndex":{"a":{"distribution":{"n":{"1":3,"x":1}},)"
      R"("stats":{"n":{"min":0.0,"max":1.0}}}},"requestUid":"U",)"
      R"("metadata":[{},{"indexUid":"a","remote":"me"}],"remoteErrors":{"s":{"code":"x"}}})";
  EXPECT_EQ(body, wanted);
}

TEST(MergeResponses, LeavesOutTheDocumentThatOthersAreSimilarTo) {
  // The published 64-bit FNV-1a hash of "foobar".
  const std::string target = HitText(1, "[]", R"(,"documentKey":"85944171f73967e8")");
  const std::string body =
      MergedBody(RequestOf(1, R"("shape":"similar","window":{"offset":0,"limit":4},
      "target":{"id":"foobar","offset":1,"limit":2,"hasEmbeddings":true})"),
                 {BodyOf({HitText(0, "[]"), target, HitText(2, "[]"), HitText(3, "[]")}, 9)});
  EXPECT_EQ(IdsOf(body), (std::vector<int>{2, 3}));
  EXPECT_EQ(json::Value::Parse(body)["estimatedTotalHits"].integer(), 8u);
  EXPECT_EQ(json::Value::Parse(body)["id"].string(), "foobar");
}

TEST(MergeResponses, KnowsUidsOfQueries) {
  const std::string body = BodyOf({HitText(1, "[]"), "{ " + SourceText("[]") + " }"}, 7,
                                  R"(,"metadata":[{"queryUid":"u"}],"processingTimeMs":4)");
  std::vector<ServerResponse> responses;
  responses.push_back(std::move(*ServerResponse::Read(body)));
  const auto merged = MergeResponses(
      R"({"servers":[{"name":null,"positions":[1]}],"window":{"offset":0,"limit":20},"showsMetadata":true})",
      responses);
  ASSERT_TRUE(merged.ok());
  const ResponseHead& head = merged->head;
  EXPECT_EQ(head.processing_time_ms, 4u);
  EXPECT_EQ(head.total_hits, 7u);
  EXPECT_EQ(head.query_uids, (std::vector<std::string>{"", "u"}));
}

// Every document has the number of its key.
std::string DraftedHit(int id) {
  std::string key = std::to_string(id);
  key.insert(0, 8 - key.size(), '0');
  return HitText(id, "[]", R"(,"documentKey":")" + key + R"(00000000")");
}

struct Drafted {
  std::vector<int> ids;
  std::vector<std::string> teams;
  uint64_t total = 0;
};

Drafted DraftOf(const std::vector<int>& first, const std::vector<int>& second, uint64_t seed,
                uint64_t offset, uint64_t limit, uint64_t total_max = 1000) {
  std::deque<std::string> bodies;  // the responses borrow them
  std::vector<ServerResponse> responses;
  for (const auto* list : {&first, &second}) {
    std::vector<std::string> hits;
    for (const int id : *list) hits.push_back(DraftedHit(id));
    bodies.push_back(BodyOf(hits, list->size()));
    responses.push_back(std::move(*ServerResponse::Read(bodies.back())));
  }
  const auto merged = MergeResponses(
      RequestOf(2, R"("shape":"search","draft":{"seed":)" + std::to_string(seed) +
                       R"(},"totalMax":)" + std::to_string(total_max) + R"(,"window":{"offset":)" +
                       std::to_string(offset) + R"(,"limit":)" + std::to_string(limit) + "}"),
      responses);
  EXPECT_TRUE(merged.ok()) << merged.status().message();
  return {IdsOf(merged->body), merged->head.teams, merged->head.total_hits.value_or(0)};
}

std::set<int> IdsOfTeam(const std::string& keys) {
  std::set<int> ids;
  for (size_t at = 0; at < keys.size(); at += 8) ids.insert(std::stoi(keys.substr(at, 8)));
  return ids;
}

// A draft is checked by its rules: what each team gives is the best of its list that is not taken,
// and of every two picks each team has one, as long as it has hits.
TEST(MergeResponses, DraftsTheHitsOfTwoListsByTeams) {
  std::mt19937_64 random(TestSeed());
  int first_begins = 0, rounds = 0;
  for (int run = 0; run < 500; ++run) {
    std::vector<int> lists[2];
    for (std::vector<int>& list : lists) {
      for (int id = 1; id <= 12; ++id)
        if (random() % 3 > 0) list.push_back(id);
      std::shuffle(list.begin(), list.end(), random);
    }
    const uint64_t seed = random() >> 11;
    const Drafted whole = DraftOf(lists[0], lists[1], seed, 0, 1000);
    const std::set<int> teams[] = {IdsOfTeam(whole.teams[0]), IdsOfTeam(whole.teams[1])};
    std::set<int> taken;
    std::vector<size_t> picks;
    for (const int id : whole.ids) {
      const size_t team = teams[0].contains(id) ? 0 : 1;
      ASSERT_NE(teams[0].contains(id), teams[1].contains(id));
      const auto best = [&](size_t of) {
        return std::find_if(lists[of].begin(), lists[of].end(),
                            [&](int one) { return !taken.contains(one); });
      };
      ASSERT_NE(best(team), lists[team].end());
      EXPECT_EQ(*best(team), id);
      // One team picks twice only if the other has nothing.
      if (picks.size() % 2 == 1 && team == picks.back()) {
        EXPECT_EQ(best(1 - team), lists[1 - team].end());
      }
      picks.push_back(team);
      EXPECT_TRUE(taken.insert(id).second);
      if (picks.size() == 1) {
        ++rounds;
        first_begins += team == 0;
      }
    }
    std::set<int> both(lists[0].begin(), lists[0].end());
    both.insert(lists[1].begin(), lists[1].end());
    EXPECT_EQ(taken, both);
    EXPECT_EQ(whole.total, both.size());
    EXPECT_EQ(DraftOf(lists[0], lists[1], seed, 0, 0).total,
              std::max(lists[0].size(), lists[1].size()));
    // Pages are parts of the same draft.
    std::vector<int> pages;
    std::string keys;
    for (uint64_t offset = 0; offset < whole.ids.size(); offset += 3) {
      const Drafted page = DraftOf(lists[0], lists[1], seed, offset, 3);
      pages.insert(pages.end(), page.ids.begin(), page.ids.end());
      keys += page.teams[0];
    }
    EXPECT_EQ(pages, whole.ids);
    EXPECT_EQ(keys, whole.teams[0]);
    EXPECT_EQ(DraftOf(lists[0], lists[1], seed, 2, 100, 5).ids.size(),
              std::clamp<size_t>(whole.ids.size(), 2, 5) - 2);
  }
  // A fair coin: 8 standard deviations.
  EXPECT_NEAR(first_begins, rounds / 2, 90);
}

TEST(MergeResponses, RefusesABodyThatIsTooLarge) {
  std::vector<ServerResponse> responses;
  const std::string body = BodyOf({HitText(1, "[]")}, 1);
  responses.push_back(std::move(*ServerResponse::Read(body)));
  const auto merged = MergeResponses(
      RequestOf(1, R"("window":{"offset":0,"limit":20},"responseBytesMax":50)"), responses);
  EXPECT_EQ(merged.status().detail(), "bad_request");
}

TEST(ServerResponse, IsRefusedWhenItIsNone) {
  const std::string total = R"("estimatedTotalHits":1)", scores = "[" + ScoreText("1") + "]";
  const auto hit = [&](const std::string& object) {
    return "{\"hits\":[" + object + "]," + total + "}";
  };
  std::string deep = R"({"hits":[],"totalHits":0,"x":)";
  deep += std::string(2000, '[') + std::string(2000, ']') + "}";
  for (const std::string& bad : {
           std::string(""),
           std::string("null"),
           std::string("[]"),
           std::string("{}"),
           std::string("\xff\xfe"),
           std::string("{\"hits\":[]} x"),
           std::string("{\"hits\":[],\"totalHits\":1,\"x\":\"\xff\"}"),
           std::string("{\"hits\":[],\"totalHits\":1,}"),
           deep,
           R"({"hits":"none",)" + total + "}",
           std::string("{\"hits\":[]}"),
           R"({"hits":[],"hits":[],)" + total + "}",
           hit("{\"id\":1}"),
           hit("1"),
           hit("{" + SourceText("1") + "}"),
           hit("{" + SourceText("[1]") + "}"),
           hit("{" + SourceText("[{}]") + "}"),
           hit("{" + SourceText("[" + ScoreText("\"1\"") + "]") + "}"),
           hit("{" + SourceText("[" + ScoreText("1e999") + "]") + "}"),
           hit("{" + SourceText("[{\"sort\":{\"value\":1}}]") + "}"),
           hit("{" + SourceText("[{\"sort\":{\"asc\":true}}]") + "}"),
           hit("{" + SourceText("[{\"sort\":{\"asc\":true,\"value\":[]}}]") + "}"),
           hit("{" + SourceText("[{\"geoSort\":{\"asc\":1,\"distance\":1}}]") + "}"),
           hit("{" + SourceText(scores) + "," + SourceText(scores) + "}"),
           hit("{" + SourceText(scores, ",\"distinctKeys\":[1]") + "}"),
           hit("{" + SourceText(scores, ",\"documentKey\":1") + "}"),
           hit("{" + SourceText(scores, ",\"queriesPosition\":-1") + "}"),
           std::string(R"({"hits":[],"estimatedTotalHits":"x"})"),
           std::string(R"({"hits":[],"estimatedTotalHits":1.5})"),
           std::string(R"({"hits":[],"estimatedTotalHits":1e300})"),
           BodyOf({}, 1, R"(,"processingTimeMs":1.5)"),
           BodyOf({}, 1, R"(,"queryVectors":1)"),
           BodyOf({}, 1, R"(,"queryVectors":{"x":[1]})"),
           BodyOf({}, 1, R"(,"queryVectors":{"0":[[1]]})"),
           BodyOf({}, 1, R"(,"metadata":[1])"),
           BodyOf({}, 1, R"(,"furtherDistinctKeys":1)"),
           BodyOf({}, 1, R"(,"furtherDistinctKeys":[[]])"),
           BodyOf({}, 1, R"(,"furtherDistinctKeys":[["a"]])"),
           BodyOf({}, 1, R"(,"furtherDistinctKeys":[[1,2]])"),
           BodyOf({}, 1, R"(,"facetsByIndex":{"a":{"distribution":{}}})"),
           BodyOf({}, 1, R"(,"facetsByIndex":{"a":{"distribution":{"f":{"v":"x"}},"stats":{}}})"),
           BodyOf({}, 1, R"(,"facetsByIndex":{"a":{"distribution":{"f":{"v":0.5}},"stats":{}}})"),
           BodyOf({}, 1,
                  R"(,"facetsByIndex":{"a":{"distribution":{"f":{"\ud800":1}},"stats":{}}})"),
           BodyOf(
               {}, 1,
               R"(,"facetsByIndex":{"a":{"distribution":{},"stats":{"f":{"min":1,"max":1e999}}}})"),
       }) {
    EXPECT_FALSE(ServerResponse::Read(bad).ok()) << bad;
  }
}

TEST(ServerResponse, MayHaveMoreThanMergingNeeds) {
  const std::string body = " {\"\\u0068its\":[" + HitText(1, "[]", ",\"more\":[]") +
                           "],\"more\":{\"x\":[{}]},\"totalHits\":1} ";
  const auto response = ServerResponse::Read(body);
  ASSERT_TRUE(response.ok()) << response.status().message();
  EXPECT_EQ(response->hits.size(), 1u);
}

TEST(FacetHits, HaveCountsThatAreIntegers) {
  const auto read = [](const std::string& count) {
    return ReadFacetHits(R"({"facetHits":[{"value":"a","count":)" + count + "}]}");
  };
  EXPECT_EQ((*read("2"))[0].count, 2u);
  for (const char* bad : {"1.5", "-1", "1e300", "\"1\"", "null"})
    EXPECT_FALSE(read(bad).ok()) << bad;
  for (const char* bad : {"{}", "[]", R"({"facetHits":1})", R"({"facetHits":[1]})",
                          R"({"facetHits":[{"count":1}]})", R"({"facetHits":[{"value":"a"}]})"})
    EXPECT_FALSE(ReadFacetHits(bad).ok()) << bad;
}

TEST(FacetHits, MergeIntoOneListOverServers) {
  std::vector<std::vector<FacetValue>> values = {{{"Action", 2}, {"drama", 1}}, {{"action", 3}}};
  const auto body = MergeFacetHits(
      R"({"facetName":"f","faceting":{"maxValuesPerFacet":1,"sortFacetValuesBy":{"*":"count"}},
      "facetQuery":"a","processingTimeMs":1,"remoteErrors":{}})",
      values);
  EXPECT_EQ(body->body, R"({"facetHits":[{"value":"Action","count":5}],"facetQuery":"a",)"
                        R"("processingTimeMs":1,"remoteErrors":{}})");
}

// `distribution` or `stats` of facets that servers have counted for one index.
std::string FacetsOf(const std::vector<std::string>& parts, const std::string& settings,
                     const char* member = "distribution") {
  std::vector<std::string> bodies;
  for (const std::string& part : parts)
    bodies.push_back(BodyOf({}, 1, ",\"facetsByIndex\":{\"i\":" + part + "}"));
  const std::string body =
      MergedBody(RequestOf(parts.size(),
                           R"("window":{"offset":0,"limit":20},"faceting":{"i":)" + settings + "}"),
                 bodies);
  return std::string(json::Value::Parse(body)["facetsByIndex"]["i"][member].text());
}

TEST(ServerFacets, KeepTheWidestRangeAndTheOrder) {
  const std::vector<std::string> parts = {
      R"({"distribution":{"n":{"1":1,"b":3}},"stats":{"n":{"min":1,"max":1}}})",
      R"({"distribution":{"n":{"b":1,"2":2,"a":5}},"stats":{"n":{"min":2,"max":2}}})"};
  for (const char* max : {"10", "0"}) {  // in the order by count, 0 means no limit
    const std::string settings =
        R"({"sortFacetValuesBy":{"n":"count"},"maxValuesPerFacet":)" + std::string(max) + "}";
    EXPECT_EQ(FacetsOf(parts, settings), R"({"n":{"2":2,"1":1,"a":5,"b":4}})");
    EXPECT_EQ(FacetsOf(parts, settings, "stats"), R"({"n":{"min":1.0,"max":2.0}})");
  }
}

TEST(ServerFacets, OrderNumbersByTextIfThereAreFewDocuments) {
  const auto first = [](const std::vector<std::string>& counts) {
    std::vector<std::string> parts;
    for (const std::string& count : counts)
      parts.push_back(R"({"distribution":{"n":{"2":1,"10":1}},"stats":{})" + count + "}");
    return FacetsOf(parts, R"({"maxValuesPerFacet":1})");
  };
  const auto candidates = [](int count) { return ",\"candidates\":" + std::to_string(count); };
  EXPECT_EQ(first({candidates(1000), candidates(2000)}), R"({"n":{"10":2}})");
  EXPECT_EQ(first({candidates(1000), candidates(2001)}), R"({"n":{"2":2}})");
  EXPECT_EQ(first({candidates(1000), ""}), R"({"n":{"2":2}})");
}

TEST(ServerFacets, JoinEqualSpellingsOfSeveralIndexes) {
  const std::string body = BodyOf({}, 1, R"(,"facetsByIndex":{
      "a":{"distribution":{"n":{"b":2,"1":2}},"stats":{}},
      "b":{"distribution":{"n":{"B":2,"c":4}},"stats":{}},
      "unasked":{"distribution":{"n":{"x":9}},"stats":{}}})");
  const auto joined = [&](const std::string& order) {
    const std::string merged = MergedBody(
        RequestOf(
            1,
            R"("window":{"offset":0,"limit":20},"mergeFacets":{"maxValuesPerFacet":3},"faceting":{"a":null,"b":)" +
                order + "}"),
        {body});
    return std::string(json::Value::Parse(merged)["facetDistribution"].text());
  };
  EXPECT_EQ(joined(R"({"sortFacetValuesBy":{"*":"count"}})"), R"({"n":{"c":4,"1":2,"B":2}})");
  EXPECT_EQ(joined("{}"), R"({"n":{"1":2,"B":2,"b":2}})");
}

TEST(ServerFacets, AreTheFirstOfOneSortedList) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 200; ++round) {
    // Upper and lower case are one value; numbers come first.
    struct Counted {
      bool text;
      double number;
      std::string key;
      uint64_t count;
    };
    std::map<std::string, uint64_t> counts;
    std::vector<std::string> parts(1 + random() % 3);
    for (std::string& part : parts) {
      std::map<std::string, uint64_t> own;
      for (int n = static_cast<int>(random() % 20); n > 0; --n) {
        std::string value = random() % 2 == 0
                                ? std::to_string(random() % 30)
                                : std::string(1, static_cast<char>('a' + random() % 9));
        own.try_emplace(value, 1 + random() % 5);
      }
      part = R"({"distribution":{"f":{)";
      for (auto [value, count] : own) {
        counts[value] += count;
        std::string shown = value;
        if (random() % 2 == 0) shown[0] = static_cast<char>(std::toupper(shown[0]));
        part += (part.back() == '{' ? "\"" : ",\"") + shown + "\":" + std::to_string(count);
      }
      part += R"(}},"stats":{},"candidates":1})";
    }
    const bool by_count = random() % 2 == 0;
    std::vector<Counted> sorted;
    for (const auto& [key, count] : counts) {
      const bool text = !std::isdigit(static_cast<unsigned char>(key[0]));
      sorted.push_back({text, text ? 0 : std::stod(key), key, count});
    }
    std::sort(sorted.begin(), sorted.end(), [&](const Counted& a, const Counted& b) {
      if (a.text != b.text) return b.text;
      if (!by_count) return a.key < b.key;
      if (a.count != b.count) return a.count > b.count;
      return a.text ? a.key > b.key : a.number > b.number;
    });
    const size_t max = 1 + random() % 12;
    if (sorted.size() > max) sorted.resize(max);
    std::string wanted;
    for (const Counted& one : sorted) wanted += one.key + "=" + std::to_string(one.count) + " ";
    const std::string settings = R"({"sortFacetValuesBy":{"*":")" +
                                 std::string(by_count ? "count" : "alpha") +
                                 R"("},"maxValuesPerFacet":)" + std::to_string(max) + "}";
    std::string given;
    const std::string text = FacetsOf(parts, settings);
    const json::Value of_field = json::Value::Parse(text)["f"];
    for (const auto& [shown, count] : of_field.members()) {
      std::string key = shown;
      key[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(key[0])));
      given += key + "=" + std::to_string(count.integer()) + " ";
    }
    ASSERT_EQ(given, wanted) << settings;
  }
}

}  // namespace
}  // namespace gannet::search
