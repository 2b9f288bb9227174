#include "search/federate.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/json_value.h"
#include "bitmap/random_docids.h"
#include "index/evaluate_filter.h"
#include "indexing/job.h"
#include "search/complete_request.h"
#include "search/execute.h"
#include "search/federation/merge_responses.h"
#include "search/page.h"

namespace gannet::search {
namespace {

constexpr const char* kSettings =
    R"("rankingRules":["words","typo","proximity","attribute","sort","exactness"],)"
    R"("filterableAttributes":["tags","year"],"sortableAttributes":["year"])";

// An index in its own folder, filled through the write path.
class TestIndex {
 public:
  TestIndex(const std::string& documents, const std::string& settings) {
    static int number = 0;
    dir_ = std::filesystem::temp_directory_path() /
           ("gannet-federate-" + std::to_string(getpid()) + "-" + std::to_string(number++));
    auto opened = index::Index::Open(dir_);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    index_ = *opened;
    Run("{\"task\":0,\"kind\":\"settings\",\"settings\":{" + settings + "}}", {});
    Run(R"({"task":1,"kind":"documents","method":"replace","payload":{"buffer":0},"format":"json","primaryKey":"id",)"
        R"("skipCreation":false})",
        documents);
  }
  ~TestIndex() {
    index_.reset();
    std::filesystem::remove_all(dir_);
  }
  index::Index* operator*() const { return index_.get(); }

 private:
  void Run(const std::string& step, std::string_view payload) {
    const std::string job =
        R"({"batchUid":0,"taskUids":[0],"now":"2024-01-01T00:00:00Z","steps":[)" + step + "]}";
    indexing::Progress progress;
    const auto outcome = indexing::RunBatch(*index_, *indexing::BatchJob::Parse(job), {&payload, 1},
                                            {}, EvaluateForDeletion, progress);
    ASSERT_TRUE(outcome.ok()) << outcome.status().message();
    EXPECT_EQ(outcome->find("\"error\""), std::string::npos) << *outcome;
  }
  static Result<DocSet> EvaluateForDeletion(const index::Snapshot& snapshot,
                                            std::string_view filter) {
    return index::EvaluateFilterJson(snapshot, filter, {});
  }
  std::string dir_;
  std::shared_ptr<index::Index> index_;
};

// A JSON tree and the text it points into.
struct ParsedResponse {
  std::string text;
  json::Value body;
};

struct Query {
  size_t index;
  std::string parameters;  // members of the query, without braces
  double weight = 1;
};

// Indexes "i0", "i1" and so on.
class Fixture {
 public:
  void Add(const std::string& documents, const std::string& settings = kSettings) {
    indexes_.push_back(std::make_unique<TestIndex>(documents, settings));
  }
  size_t size() const { return indexes_.size(); }

  Result<std::string> Federate(const std::string& federation, const std::vector<Query>& queries,
                               const std::vector<size_t>& others = {},
                               const std::string& more = "") const {
    GANNET_ASSIGN_OR_RETURN(auto response, FederateWhole(federation, queries, more, others));
    return std::move(response.body);
  }

  Result<SearchResponse> FederateWhole(const std::string& federation,
                                       const std::vector<Query>& queries, const std::string& more,
                                       const std::vector<size_t>& others = {}) const {
    std::vector<index::Index*> indexes;
    std::string request =
        "{\"federation\":" + Complete(federation, kPageMembers) + ",\"queries\":[";
    for (const Query& query : queries) {
      if (!indexes.empty()) request += ',';
      indexes.push_back(**indexes_[query.index]);
      request += "{\"indexUid\":\"i" + std::to_string(query.index) +
                 "\",\"federationOptions\":{\"weight\":" + std::to_string(query.weight) + "}" +
                 (query.parameters.empty() ? "" : ",") + query.parameters + "}";
    }
    request += "],\"otherIndexes\":[";
    for (size_t i = 0; i < others.size(); ++i) {
      indexes.push_back(**indexes_[others[i]]);
      request += (i > 0 ? ",\"i" : "\"i") + std::to_string(others[i]) + "\"";
    }
    request += "],\"requestUid\":\"r\"" + more + "}";
    return ExecuteFederatedSearch(indexes, request, MonotonicMicroseconds());
  }

  index::Index& first() const { return ***indexes_[0]; }

  ParsedResponse Search(const Query& query, const std::string& more) const {
    const std::string request =
        Complete(query.parameters + (query.parameters.empty() ? "" : ",") + more);
    auto body = ExecuteSearch(***indexes_[query.index], request, MonotonicMicroseconds());
    EXPECT_TRUE(body.ok()) << request << body.status().message();
    ParsedResponse response{body.ok() ? body->body : "{}", {}};
    response.body = json::Value::Parse(response.text);
    return response;
  }

  // A facet search in the first index.
  std::vector<std::string> FacetSearch(const std::string& parameters) const {
    const auto body =
        ExecuteFacetSearch(***indexes_[0], "{" + parameters + "}", MonotonicMicroseconds());
    EXPECT_TRUE(body.ok()) << body.status().message();
    const json::Value response = json::Value::Parse(body.ok() ? body->body : "{}");
    std::vector<std::string> values;
    for (const json::Value& hit : response["facetHits"].items())
      values.push_back(hit["value"].string());
    return values;
  }

 private:
  std::vector<std::unique_ptr<TestIndex>> indexes_;
};

json::Value BodyOf(const Result<std::string>& response) {
  EXPECT_TRUE(response.ok()) << response.status().message();
  return response.ok() ? json::Value::Parse(*response) : json::Value();
}

// The message as the server shows it: src/contract/errors.ts.
std::string Shown(const Status& status) {
  const Location location = status.location() == nullptr ? Location() : *status.location();
  std::string out;
  if (location.query) out = "Inside `.queries[" + std::to_string(*location.query) + "]`: ";
  if (!location.path.empty()) out = "Inside `." + location.path + "`: ";
  if (!location.index.empty()) out += "Index `" + location.index + "`: ";
  return out + status.message();
}

void ExpectError(const Result<std::string>& response, const std::string& code,
                 const std::string& beginning) {
  ASSERT_FALSE(response.ok()) << *response;
  EXPECT_EQ(response.status().detail(), code);
  EXPECT_TRUE(Shown(response.status()).starts_with(beginning)) << Shown(response.status());
}

struct FoundHit {
  size_t index;
  uint64_t id;
  size_t query;
  double score;  // weighted
  std::vector<std::string> tags;
  std::optional<double> year;

  std::string label() const {
    return "i" + std::to_string(index) + "/" + std::to_string(id) + " by " + std::to_string(query);
  }
};

std::vector<FoundHit> HitsOf(const json::Value& body) {
  std::vector<FoundHit> hits;
  for (const json::Value& hit : body["hits"].items()) {
    const json::Value& from = hit["_federation"];
    hits.push_back({static_cast<size_t>(std::stoul(from["indexUid"].string().substr(1))),
                    hit["id"].integer(),
                    from["queriesPosition"].integer(),
                    from["weightedRankingScore"].number(),
                    {},
                    {}});
  }
  return hits;
}

// The hits of the separate searches, in the order of the queries.
std::vector<FoundHit> Separately(const Fixture& fixture, const std::vector<Query>& queries,
                                 const std::string& more = "") {
  std::vector<FoundHit> hits;
  for (size_t i = 0; i < queries.size(); ++i) {
    const ParsedResponse response =
        fixture.Search(queries[i], "\"limit\":1000,\"showRankingScore\":true" + more);
    for (const json::Value& hit : response.body["hits"].items()) {
      FoundHit found{queries[i].index, hit["id"].integer(), i, 0, {}, {}};
      found.score = hit["_rankingScore"].number() * queries[i].weight;
      found.tags = hit["tags"].Strings().value_or(std::vector<std::string>());
      if (!hit["year"].is_null()) found.year = hit["year"].number();
      hits.push_back(std::move(found));
    }
  }
  return hits;
}

template <typename Before>
std::vector<FoundHit> MergeNaively(std::vector<FoundHit> hits, Before before) {
  std::stable_sort(hits.begin(), hits.end(), before);
  std::set<std::pair<size_t, uint64_t>> seen;
  std::erase_if(hits, [&](const FoundHit& hit) {
    return !seen.insert({hit.index, hit.id}).second;
  });
  return hits;
}

bool ByScore(const FoundHit& a, const FoundHit& b) { return a.score - b.score > 1e-13; }

void ExpectPage(const json::Value& body, const std::vector<FoundHit>& all, uint64_t offset,
                uint64_t limit) {
  const auto hits = HitsOf(body);
  const size_t begin = std::min<size_t>(offset, all.size()),
               end = std::min<size_t>(offset + limit, all.size());
  ASSERT_EQ(hits.size(), end - begin);
  for (size_t i = 0; i < hits.size(); ++i) {
    EXPECT_EQ(hits[i].label(), all[begin + i].label()) << "hit " << i;
    EXPECT_NEAR(hits[i].score, all[begin + i].score, 1e-12) << hits[i].label();
  }
}

class RandomSearches {
 public:
  explicit RandomSearches(uint64_t seed) : random_(seed) {}

  uint64_t Below(uint64_t limit) { return random_() % limit; }
  std::string Words(uint64_t count_max) {
    static const char* const kWords[] = {"green", "grain", "train", "trail",    "river", "rivers",
                                         "stone", "store", "north", "northern", "old",   "house"};
    std::string out;
    for (uint64_t i = 0, count = 1 + Below(count_max); i < count; ++i) {
      out += (i > 0 ? " " : "") + std::string(kWords[Below(std::size(kWords))]);
    }
    return out;
  }
  std::string Documents(uint64_t count) {
    std::string out = "[";
    for (uint64_t id = 0; id < count; ++id) {
      out += (id > 0 ? ",{\"id\":" : "{\"id\":") + std::to_string(id) + ",\"title\":\"" + Words(4) +
             "\"";
      if (Below(5) > 0) out += ",\"year\":" + std::to_string(1990 + Below(20));
      out += ",\"tags\":[";
      for (uint64_t i = 0, tags = Below(3); i < tags; ++i) {
        out += (i > 0 ? ",\"t" : "\"t") + std::to_string(Below(40)) + "\"";
      }
      out += "]}";
    }
    return out + "]";
  }
  void Fill(Fixture& fixture) {
    for (uint64_t i = 0, count = 1 + Below(3); i < count; ++i)
      fixture.Add(Documents(1 + Below(60)));
  }
  std::vector<Query> Queries(const Fixture& fixture, bool words) {
    std::vector<Query> queries;
    for (uint64_t i = 0, count = 1 + Below(5); i < count; ++i) {
      Query query;
      query.index = Below(fixture.size());
      if (words) query.parameters = "\"q\":\"" + Words(2) + "\"";
      if (Below(3) == 0) {
        query.parameters += std::string(query.parameters.empty() ? "" : ",") +
                            "\"filter\":\"year > " + std::to_string(1990 + Below(20)) + "\"";
      }
      static const double kWeights[] = {1, 1, 0.5, 2, 0.9};
      query.weight = kWeights[Below(std::size(kWeights))];
      queries.push_back(std::move(query));
    }
    return queries;
  }

 private:
  std::mt19937_64 random_;
};

TEST(FederatedSearch, EqualsSeparateSearchesMergedByScore) {
  RandomSearches random(TestSeed());
  for (int round = 0; round < 12; ++round) {
    Fixture fixture;
    random.Fill(fixture);
    for (int search = 0; search < 20; ++search) {
      const auto queries = random.Queries(fixture, true);
      const auto all = MergeNaively(Separately(fixture, queries), ByScore);
      const uint64_t offset = random.Below(8), limit = random.Below(30);
      const auto response = fixture.Federate("\"offset\":" + std::to_string(offset) +
                                                 ",\"limit\":" + std::to_string(limit) +
                                                 R"(,"facetsByIndex":{"i0":["tags"]})",
                                             queries);
      const json::Value body = BodyOf(response);
      ExpectPage(body, all, offset, limit);
      EXPECT_EQ(body["limit"].integer(), limit);
      EXPECT_EQ(body["offset"].integer(), offset);
      EXPECT_EQ(body["estimatedTotalHits"].integer(), all.size());
      EXPECT_EQ(body["requestUid"].string(), "r");

      std::map<std::string, uint64_t> counts;
      bool searched = false;
      for (const Query& query : queries) searched |= query.index == 0;
      for (const FoundHit& hit : all) {
        if (hit.index != 0) continue;
        for (const std::string& tag : std::set<std::string>(hit.tags.begin(), hit.tags.end()))
          ++counts[tag];
      }
      EXPECT_EQ(body["facetsByIndex"].is_object(), searched);
      std::map<std::string, uint64_t> counted;
      for (const auto& [tag, count] :
           body["facetsByIndex"]["i0"]["distribution"]["tags"].members()) {
        counted[tag] = count.integer();
      }
      EXPECT_EQ(counted, counts);
      if (HasFailure()) FAIL() << *response;
    }
  }
}

TEST(FederatedSearch, EqualsSeparateSearchesMergedBySortValue) {
  RandomSearches random(TestSeed() + 1);
  for (int round = 0; round < 8; ++round) {
    Fixture fixture;
    random.Fill(fixture);
    for (int search = 0; search < 15; ++search) {
      const bool ascending = random.Below(2) == 0;
      auto queries = random.Queries(fixture, false);
      for (Query& query : queries) {
        query.parameters += std::string(query.parameters.empty() ? "" : ",") +
                            "\"sort\":[\"year:" + (ascending ? "asc" : "desc") + "\"]";
      }
      const auto all =
          MergeNaively(Separately(fixture, queries), [&](const FoundHit& a, const FoundHit& b) {
            if (!a.year || !b.year) return a.year.has_value() && !b.year;
            return ascending ? *a.year < *b.year : *a.year > *b.year;
          });
      const uint64_t limit = 1 + random.Below(40);
      const auto response = fixture.Federate("\"limit\":" + std::to_string(limit), queries);
      ExpectPage(BodyOf(response), all, 0, limit);
      if (HasFailure()) FAIL() << *response;
    }
  }
}

TEST(FederatedSearch, KeepsTheBestHitPerDistinctValueOverAllIndexesAndCountsExactly) {
  RandomSearches random(TestSeed() + 2);
  for (int round = 0; round < 8; ++round) {
    Fixture fixture;
    random.Fill(fixture);
    for (int search = 0; search < 15; ++search) {
      const auto queries = random.Queries(fixture, true);
      std::set<std::string> taken;
      auto kept = MergeNaively(Separately(fixture, queries, R"(,"distinct":"tags")"), ByScore);
      std::erase_if(kept, [&](const FoundHit& hit) {
        for (const std::string& tag : hit.tags) {
          if (taken.contains(tag)) return true;
        }
        taken.insert(hit.tags.begin(), hit.tags.end());
        return false;
      });
      const uint64_t per_page = 1 + random.Below(6), page = 1 + random.Below(3);
      const auto response =
          fixture.Federate("\"distinct\":\"tags\",\"page\":" + std::to_string(page) +
                               ",\"hitsPerPage\":" + std::to_string(per_page),
                           queries);
      const json::Value body = BodyOf(response);
      ExpectPage(body, kept, (page - 1) * per_page, per_page);
      EXPECT_EQ(body["totalHits"].integer(), kept.size());
      EXPECT_EQ(body["totalPages"].integer(), (kept.size() + per_page - 1) / per_page);
      EXPECT_FALSE(body.Has("estimatedTotalHits"));
      if (HasFailure()) FAIL() << *response;
    }
  }
}

class FederatedSearchOfBooks : public testing::Test {
 protected:
  FederatedSearchOfBooks() {
    fixture_.Add(R"([{"id":1,"title":"old house","year":1990,"tags":["a","b"]},)"
                 R"({"id":2,"title":"house","year":2000,"tags":["b"]}])");
    fixture_.Add(R"([{"id":1,"title":"stone house","year":1995,"tags":["b","c"]}])");
    fixture_.Add(R"([{"id":1,"title":"house","year":1995,"tags":["d"]}])",
                 std::string(kSettings) + R"(,"faceting":{"sortFacetValuesBy":{"tags":"count"}})");
    fixture_.Add(R"([{"id":1,"title":"house","year":1995}])",
                 R"("rankingRules":["year:desc","words"])");
  }
  Fixture fixture_;
};

TEST_F(FederatedSearchOfBooks, RefusesRulesThatCannotBeComparedBeforeItSearches) {
  const char* const code = "invalid_multi_search_query_ranking_rules";
  const std::string up = R"("sort":["year:asc"])", down = R"("sort":["year:desc"])",
                    house = R"("q":"house")";
  ExpectError(fixture_.Federate("", {{0, house}, {1, up}}), code, "Inside `.queries[1]`: ");
  ExpectError(fixture_.Federate("", {{0, up}, {1, down}}), code, "Inside `.queries[1]`: ");
  ExpectError(fixture_.Federate("", {{3, house}, {0, house}}), code, "Inside `.queries[0]`: ");
  ExpectError(fixture_.Federate("", {{0, R"("q":"nothing has this")"}, {0, up}}), code,
              "Inside `.queries[1]`: ");
  EXPECT_TRUE(fixture_.Federate("", {{0, up}, {1, up}, {0, ""}}).ok());
  EXPECT_TRUE(fixture_.Federate("", {{0, house}, {1, ""}}).ok());
  EXPECT_TRUE(fixture_.Federate("", {{3, house}, {3, ""}, {0, down}}).ok());
}

TEST_F(FederatedSearchOfBooks, ReportsTheFirstQueryThatFails) {
  for (int i = 0; i < 20; ++i) {
    ExpectError(
        fixture_.Federate(
            "", {{0, ""}, {1, R"("filter":"title = 1")"}, {0, R"("filter":"year >")"}, {0, ""}}),
        "invalid_search_filter", "Inside `.queries[1]`: Index `i1`: ");
  }
  ExpectError(fixture_.Federate("", {{0, R"("sort":["title:asc"])"}}), "invalid_search_sort",
              "Inside `.queries[0]`: ");
}

TEST_F(FederatedSearchOfBooks, NeedsADistinctThatAllSearchedIndexesCanFilterBy) {
  ExpectError(fixture_.Federate(R"("distinct":"title")", {{0, ""}}), "invalid_search_distinct",
              "Inside `.federation.distinct`: ");
  ExpectError(fixture_.Federate(R"("distinct":"tags")", {{0, ""}, {3, ""}}),
              "invalid_search_distinct", "");
  EXPECT_TRUE(fixture_.Federate(R"("distinct":"tags")", {{0, ""}}, {3}).ok());
}

TEST_F(FederatedSearchOfBooks, FillsThePageAfterDistinctDropsHits) {
  // Both documents of i0 have the tag b, which the better hit of i1 already has.
  const json::Value body =
      BodyOf(fixture_.Federate(R"("distinct":"tags","limit":2)", {{1, "", 2}, {0, ""}, {2, ""}}));
  ASSERT_EQ(body["hits"].items().size(), 2u);
  EXPECT_EQ(HitsOf(body)[0].label(), "i1/1 by 0");
  EXPECT_EQ(HitsOf(body)[1].label(), "i2/1 by 2");
}

TEST_F(FederatedSearchOfBooks, ChecksFacetListsOfIndexesThatNoQuerySearchesAndLeavesThemOut) {
  const std::vector<Query> queries = {{0, ""}};
  const auto response =
      fixture_.Federate(R"("facetsByIndex":{"i0":["tags"],"i1":["tags"]},"limit":0)", queries, {1});
  const json::Value body = BodyOf(response);
  EXPECT_TRUE(body["facetsByIndex"].Has("i0"));
  EXPECT_FALSE(body["facetsByIndex"].Has("i1"));
  EXPECT_EQ(body["facetsByIndex"]["i0"].text(),
            R"({"distribution":{"tags":{"a":1,"b":2}},"stats":{}})");
  const auto only_other = fixture_.Federate(R"("facetsByIndex":{"i1":["tags"]})", queries, {1});
  EXPECT_FALSE(BodyOf(only_other).Has("facetsByIndex"));
  ExpectError(fixture_.Federate(R"("facetsByIndex":{"i1":["title"]})", queries, {1}),
              "invalid_search_facets", "Inside `.federation.facetsByIndex.i1`: ");
  ExpectError(fixture_.Federate(R"("facetsByIndex":{"i0":["title"],"i1":["title"]})", queries, {1}),
              "invalid_search_facets", "Inside `.federation.facetsByIndex.i0`: ");
}

TEST_F(FederatedSearchOfBooks, MergesFacetsOfTheSameName) {
  const std::string lists =
      R"("limit":0,"facetsByIndex":{"i0":["tags","year"],"i1":["tags","year"]})";
  const auto response =
      fixture_.Federate(lists + R"(,"mergeFacets":{})", {{0, ""}, {1, ""}, {0, ""}});
  const json::Value body = BodyOf(response);
  EXPECT_EQ(body["facetDistribution"].text(),
            R"({"tags":{"a":1,"b":3,"c":1},"year":{"1990":1,"1995":1,"2000":1}})");
  EXPECT_EQ(body["facetStats"].text(), R"({"year":{"min":1990.0,"max":2000.0}})");
  EXPECT_FALSE(body.Has("facetsByIndex"));
  const auto cut =
      fixture_.Federate(lists + R"(,"mergeFacets":{"maxValuesPerFacet":1})", {{0, ""}, {1, ""}});
  EXPECT_EQ(BodyOf(cut)["facetDistribution"].text(), R"({"tags":{"a":1},"year":{"1990":1}})");
  EXPECT_FALSE(
      BodyOf(fixture_.Federate(R"("mergeFacets":{})", {{0, ""}})).Has("facetDistribution"));
}

TEST_F(FederatedSearchOfBooks, RefusesToMergeAFacetThatTwoIndexesOrderDifferently) {
  const std::string tags = R"("facetsByIndex":{"i0":["tags"],"i2":["tags"]})";
  ExpectError(fixture_.Federate(tags + R"(,"mergeFacets":{})", {{0, ""}, {2, ""}}),
              "invalid_multi_search_facet_order", "Inside `.federation.facetsByIndex.i2`: ");
  ExpectError(fixture_.Federate(tags + R"(,"mergeFacets":{})", {{0, ""}}, {2}),
              "invalid_multi_search_facet_order", "");
  EXPECT_TRUE(fixture_.Federate(tags, {{0, ""}, {2, ""}}).ok());
  EXPECT_TRUE(fixture_
                  .Federate(R"("facetsByIndex":{"i0":["year"],"i2":["year"]},"mergeFacets":{})",
                            {{0, ""}, {2, ""}})
                  .ok());
}

TEST_F(FederatedSearchOfBooks, ReturnsPagesFarAfterTheEnd) {
  const char* const kFar = "9007199254740991";
  const auto page = fixture_.Federate(std::string("\"page\":") + kFar + ",\"hitsPerPage\":" + kFar,
                                      {{0, ""}, {1, ""}});
  EXPECT_TRUE(BodyOf(page)["hits"].items().empty());
  EXPECT_EQ(BodyOf(page)["totalHits"].integer(), 3u);
  EXPECT_EQ(BodyOf(page)["totalPages"].integer(), 1u);
  const auto offset = fixture_.Federate(std::string("\"offset\":") + kFar + ",\"limit\":" + kFar,
                                        {{0, ""}, {1, ""}});
  EXPECT_TRUE(BodyOf(offset)["hits"].items().empty());
  EXPECT_EQ(BodyOf(offset)["estimatedTotalHits"].integer(), 3u);
  const json::Value zero = BodyOf(fixture_.Federate("\"page\":0,\"hitsPerPage\":20", {{0, ""}}));
  EXPECT_TRUE(zero["hits"].items().empty());
  EXPECT_EQ(zero["totalHits"].integer(), 2u);
  EXPECT_EQ(
      BodyOf(fixture_.Federate("\"page\":1,\"hitsPerPage\":0", {{0, ""}}))["totalPages"].integer(9),
      0u);
}

TEST_F(FederatedSearchOfBooks, FormatsHitsLikeTheQueryThatFoundThem) {
  const auto response = fixture_.Federate(
      "",
      {{0, R"("q":"house","attributesToRetrieve":["title"],"showRankingScore":true)", 0.5},
       {0, R"("q":"house","attributesToRetrieve":["year"],"filter":"year = 1990")"}},
      {}, R"(,"metadata":[{"queryUid":"x"},{"queryUid":"y"}])");
  const json::Value body = BodyOf(response);
  ASSERT_EQ(body["hits"].items().size(), 2u);
  EXPECT_EQ(body["hits"].items()[0]["year"].number(), 1990);
  EXPECT_FALSE(body["hits"].items()[0].Has("title"));
  EXPECT_FALSE(body["hits"].items()[0].Has("_rankingScore"));
  const json::Value& second = body["hits"].items()[1];
  EXPECT_EQ(second["title"].string(), "house");
  EXPECT_DOUBLE_EQ(second["_rankingScore"].number() * 0.5,
                   second["_federation"]["weightedRankingScore"].number());
  EXPECT_EQ(body["metadata"].text(), R"([{"queryUid":"x"},{"queryUid":"y"}])");
  EXPECT_EQ(body["estimatedTotalHits"].integer(), 2u);
}

TEST_F(FederatedSearchOfBooks, RunsMoreQueriesThanThreads) {
  std::vector<Query> queries;
  for (size_t i = 0; i < 60; ++i)
    queries.push_back({i % 2, R"("q":"house")", 1 + static_cast<double>(i % 7)});
  const auto response = fixture_.Federate("", queries);
  const auto hits = HitsOf(BodyOf(response));
  ASSERT_EQ(hits.size(), 3u);
  EXPECT_EQ(hits[0].label(), "i0/2 by 6");
}

// 64-bit FNV-1a of texts whose hashes are published.
constexpr const char* kHashOfA = "\"af63dc4c8601ec8c\"";
constexpr const char* kForMerging = R"(,"merged":"elsewhere")";

TEST(FederatedSearchForMerging, SendsComparisonKeysEvenIfNotDisplayed) {
  Fixture fixture;
  fixture.Add(
      R"([{"id":"a","title":"house","year":1990,"_geo":{"lat":1,"lng":0}},{"id":"b","title":"house"}])",
      std::string(kSettings) +
          R"(,"sortableAttributes":["year","_geo"],"displayedAttributes":["title"])");
  const std::string query = R"("q":"house","sort":["year:desc","_geoPoint(0,0):asc"])";
  const auto response = fixture.Federate("", {{0, query, 2}}, {}, kForMerging);
  const json::Value body = BodyOf(response);
  const auto& hits = body["hits"].items();
  ASSERT_EQ(hits.size(), 2u);
  const json::Value& first = hits[0]["_federation"];
  EXPECT_EQ(first["documentKey"].text(), kHashOfA);
  EXPECT_FALSE(first.Has("distinctKeys"));
  EXPECT_FALSE(hits[0].Has("id"));
  const auto& values = first["weightedScoreValues"].items();
  ASSERT_EQ(values.size(), 4u);
  EXPECT_EQ(values[0]["weightedScore"].number(), 2);
  EXPECT_EQ(values[1].text(), R"({"sort":{"asc":false,"value":1990.0}})");
  EXPECT_EQ(values[2]["geoSort"]["asc"].text(), "true");
  EXPECT_NEAR(values[2]["geoSort"]["distance"].number(), 111195, 1);
  EXPECT_EQ(values[3]["weightedScore"].number(), 2);
  const auto& without = hits[1]["_federation"]["weightedScoreValues"].items();
  EXPECT_EQ(without[1].text(), R"({"sort":{"asc":false,"value":null}})");
  EXPECT_EQ(without[2].text(), R"({"geoSort":{"asc":true,"distance":null}})");

  const json::Value plain = BodyOf(fixture.Federate("", {{0, query, 2}}));
  EXPECT_EQ(plain["hits"].items()[0]["_federation"].members().size(), 3u);
}

TEST(FederatedSearchForMerging, SendsAllDistinctValuesThatTotalsOfPagesCount) {
  RandomSearches random(TestSeed() + 3);
  for (int round = 0; round < 8; ++round) {
    Fixture fixture;
    fixture.Add(random.Documents(1 + random.Below(60)),
                std::string(kSettings) + R"(,"displayedAttributes":["id"])");
    std::map<std::string, uint64_t> values;  // by key
    uint64_t without = 0;
    const auto body = BodyOf(fixture.Federate(R"("page":1,"hitsPerPage":5)",
                                              {{0, R"("distinct":"year")"}}, {}, kForMerging));
    for (const json::Value& hit : body["hits"].items()) {
      const auto& keys = hit["_federation"]["distinctKeys"].items();
      without += keys.empty();
      for (const json::Value& key : keys) ++values[key.string()];
    }
    for (const json::Value& further : body["furtherDistinctKeys"].items()) {
      ASSERT_EQ(further.items().size(), 2u);
      EXPECT_EQ(further.items()[0].integer(9), 0u);
      ++values[further.items()[1].string()];
    }
    for (const auto& [key, count] : values) EXPECT_EQ(count, 1u) << key;
    const auto all =
        BodyOf(fixture.Federate(R"("limit":1000)", {{0, R"("distinct":"year")"}}, {}, kForMerging));
    EXPECT_EQ(body["totalHits"].integer(), all["hits"].items().size());
    EXPECT_FALSE(all.Has("furtherDistinctKeys"));
    std::set<std::string> known;
    for (const json::Value& hit : all["hits"].items()) {
      for (const json::Value& key : hit["_federation"]["distinctKeys"].items())
        known.insert(key.string());
    }
    EXPECT_EQ(values.size(), known.size());
    EXPECT_LE(known.size() + without, body["totalHits"].integer());
  }
}

// The members of a merged response that do not differ each time.
std::vector<std::string> MembersOf(const Result<SearchResponse>& merged) {
  std::vector<std::string> members;
  EXPECT_TRUE(merged.ok()) << merged.status().message();
  if (!merged.ok()) return members;
  const json::Value body = json::Value::Parse(merged->body);
  for (const auto& [name, value] : body.members()) {
    if (name == "requestUid" || name == "processingTimeMs") continue;
    members.push_back(name + ":" + std::string(value.text()));
  }
  return members;
}

TEST(FederatedSearchForMerging, IsMergedHereAsByAnotherServer) {
  RandomSearches random(TestSeed() + 4);
  for (int round = 0; round < 30; ++round) {
    Fixture fixture;
    random.Fill(fixture);
    auto queries = random.Queries(fixture, true);
    const bool sorts = random.Below(2) == 0;
    for (Query& query : queries) {
      if (sorts) query.parameters += R"(,"sort":["year:desc"])";
      if (random.Below(3) == 0) query.parameters += R"(,"distinct":"tags")";
      if (random.Below(4) == 0) query.parameters += R"(,"attributesToRetrieve":[])";
    }
    const std::string federation =
        std::string(random.Below(2) == 0 ? R"("limit":9)" : R"("page":1,"hitsPerPage":9)") +
        R"(,"facetsByIndex":{"i0":["tags","year"]})";
    const std::string more = R"(,"metadata":[{"queryUid":"u"}])";
    for (const std::string shape : {"federated", "search"}) {
      const auto sent = fixture.FederateWhole(federation, queries, kForMerging + more);
      const auto here = fixture.FederateWhole(federation, queries, R"(,"merged":"here")" + more);
      ASSERT_TRUE(sent.ok());
      ASSERT_TRUE(here.ok());
      EXPECT_EQ(here->body, "");
      const std::string request =
          R"({"shape":")" + shape +
          R"(","servers":[{"name":"s","isHere":true,"positions":[0]}],"window":{"offset":1,)"
          R"("limit":6},"faceting":{"i0":null},"facetsOf":"i0","showsMetadata":true})";
      std::vector<ServerResponse> read, own;
      read.push_back(std::move(*ServerResponse::Read(sent->body)));
      own.push_back(std::move(*ServerResponse::Of(std::move(*here->page))));
      EXPECT_EQ(MembersOf(MergeResponses(request, own)), MembersOf(MergeResponses(request, read)));
    }
  }
}

TEST(FederatedSearchForMerging, SendsMoreFacetValuesThanShownInTheOrderByCount) {
  Fixture fixture;
  fixture.Add(
      R"([{"id":1,"tags":["a","b"],"year":10},{"id":2,"tags":["b"],"year":9},{"id":3,"tags":["c"],"year":2}])",
      std::string(kSettings) +
          R"(,"faceting":{"maxValuesPerFacet":1,"sortFacetValuesBy":{"tags":"count"}})");
  const std::string facets = R"("limit":1,"facetsByIndex":{"i0":["tags","year"]})";
  const auto for_merging = fixture.Federate(facets, {{0, ""}}, {}, kForMerging);
  const auto shown = fixture.Federate(facets, {{0, ""}});
  const json::Value merging = BodyOf(for_merging), plain = BodyOf(shown);
  const json::Value& federated = merging["facetsByIndex"]["i0"];
  EXPECT_EQ(federated["distribution"]["tags"].members().size(), 3u);
  // The first by text, and the first by value.
  EXPECT_EQ(federated["distribution"]["year"].text(), R"({"10":1,"2":1})");
  EXPECT_EQ(federated["candidates"].integer(), 3u);
  EXPECT_EQ(plain["facetsByIndex"]["i0"]["distribution"].text(),
            R"({"tags":{"b":2},"year":{"10":1}})");
  EXPECT_FALSE(plain["facetsByIndex"]["i0"].Has("candidates"));
}

TEST(FacetSearchForMerging, SendsMoreValuesThanShownInTheOrderByCount) {
  Fixture fixture;
  fixture.Add(
      R"([{"id":1,"tags":["a","b"]},{"id":2,"tags":["b"]},{"id":3,"tags":["c"]}])",
      R"("filterableAttributes":["tags"],"faceting":{"maxValuesPerFacet":1,"sortFacetValuesBy":{"tags":"count"}})");
  EXPECT_EQ(fixture.FacetSearch(R"("facetName":"tags")").size(), 1u);
  EXPECT_EQ(fixture.FacetSearch(R"("facetName":"tags","merged":"elsewhere")").size(), 3u);
}

TEST(FederatedSearchOfNothing, IsAnEmptyPage) {
  const Fixture fixture;
  const json::Value body = BodyOf(fixture.Federate("", {}));
  EXPECT_TRUE(body["hits"].is_array());
  EXPECT_EQ(body["estimatedTotalHits"].integer(9), 0u);
  EXPECT_EQ(body["limit"].integer(), 20u);
}

TEST(Head, AgreesWithTheBytes) {
  Fixture fixture;
  fixture.Add(R"([{"id":1,"t":"red }{ \"hits\":["},{"id":2,"t":"red sea"},{"id":3,"t":"blue"}])");
  fixture.Add(R"([{"id":4,"t":"red"}])", R"("searchCutoffMs":0)");
  for (const std::string more :
       {"", R"("offset":1)", R"("page":2,"hitsPerPage":1)", R"("limit":0)"}) {
    const std::string request = Complete(R"("q":"red")" + (more.empty() ? "" : "," + more));
    const auto response = ExecuteSearch(fixture.first(), request, MonotonicMicroseconds());
    ASSERT_TRUE(response.ok());
    const json::Value body = json::Value::Parse(response->body);
    EXPECT_EQ(response->head.total_hits, 2u) << more;
    EXPECT_EQ(response->head.processing_time_ms, body["processingTimeMs"].integer());
    EXPECT_FALSE(response->head.degraded);
    EXPECT_EQ(response->head.needs_vector, nullptr);
  }
  const auto merged = fixture.FederateWhole("", {{0, R"("q":"red")"}, {1, R"("q":"red")"}}, "");
  ASSERT_TRUE(merged.ok());
  EXPECT_EQ(merged->head.total_hits, 3u);
  EXPECT_TRUE(merged->head.degraded) << "the index of one query has no time";
}

}  // namespace
}  // namespace gannet::search
