// Searches that are sorted by a formula.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/json_value.h"
#include "filter/geo.h"
#include "index/indexed_documents.h"
#include "search/complete_request.h"
#include "search/execute.h"

namespace gannet::search {
namespace {

constexpr double kLast = std::numeric_limits<double>::infinity();

// The numbers of the documents in order.
std::string NumbersOf(IndexedDocuments& index, const std::string& members) {
  const auto response = ExecuteSearch(index.index(), Complete(members), Caller(0));
  EXPECT_TRUE(response.ok()) << response.status().message();
  std::string numbers;
  if (!response.ok()) return numbers;
  const json::Value body = json::Value::Parse(response->body);
  for (const json::Value& hit : body["hits"].items())
    numbers += std::to_string(static_cast<int>(hit["n"].number())) + ' ';
  return numbers;
}

TEST(FormulaOrder, EndsWithTheTimeOfTheSearch) {
  for (const bool in_time : {true, false}) {
    IndexedDocuments index(R"({"sortableAttributes":["n"],"searchCutoffMs":)" +
                           std::string(in_time ? "100000000" : "0") + "}");
    std::map<DocId, std::string> batch;
    for (DocId docid = 0; docid < 5000; ++docid)
      batch.emplace(docid, "{\"n\":" + std::to_string(docid) + "}");
    index.Put(batch);
    EXPECT_EQ(NumbersOf(index, R"("sort":["n + 1:desc"],"limit":3)"),
              in_time ? "4999 4998 4997 " : "0 1 2 ");
  }
}

// A document as the reference model sees it.
struct FormulaRow {
  double a = 0, b = 0;
  std::optional<filter::GeoPoint> point;
  int brand = 0;
  bool red = false;
};

double NearSamoa(const FormulaRow& row) {
  if (!row.point) return 0;
  return std::exp2(-filter::HaversineMetres({.lat = 10, .lng = -170}, *row.point) / 900'000);
}

// The text of a random value, and the number that a formula sees.
std::string RandomFormulaValue(std::mt19937& random, uint32_t below, double& number) {
  const auto one = [&] { return static_cast<double>(random() % below) / 8; };
  number = 0;
  switch (random() % 8) {
    case 0: return "null";
    case 1: return "\"text\"";
    case 2: return "[]";
    case 3: {
      const double first = one(), second = one();
      number = std::min(first, second);
      return "[" + std::to_string(first) + ",\"x\"," + std::to_string(second) + "]";
    }
    default: number = one(); return std::to_string(number);
  }
}

TEST(FormulaOrder, IsThatOfAPlainLoop) {
  const char* given = std::getenv("GANNET_SEED");
  const auto seed = given == nullptr ? 62 : static_cast<uint32_t>(std::strtoul(given, nullptr, 10));
  SCOPED_TRACE("GANNET_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  IndexedDocuments index(
      R"({"sortableAttributes":["a","b","_geo"],"filterableAttributes":["kind","brand"]})");
  std::map<DocId, FormulaRow> documents;
  const auto put = [&](DocId first, DocId end) {
    std::map<DocId, std::string> batch;
    for (DocId docid = first; docid < end; ++docid) {
      FormulaRow& row = documents[docid] = {};
      row.brand = static_cast<int>(random() % 40);
      row.red = random() % 2 == 0;
      std::string geo;
      if (random() % 4 > 0) {
        row.point = filter::GeoPoint{.lat = static_cast<double>(random() % 1361) / 8 - 85,
                                     .lng = static_cast<double>(random() % 2881) / 8 - 180};
        geo = ",\"_geo\":{\"lat\":" + std::to_string(row.point->lat) +
              ",\"lng\":" + std::to_string(row.point->lng) + "}";
      }
      batch[docid] = "{\"n\":" + std::to_string(docid) +
                     ",\"a\":" + RandomFormulaValue(random, 30'000, row.a) +
                     ",\"b\":" + RandomFormulaValue(random, 60, row.b) +
                     ",\"brand\":" + std::to_string(row.brand) + geo +
                     (row.red ? R"(,"kind":"red"})" : "}");
    }
    index.Put(batch);
  };
  put(0, 11'000);
  put(11'000, 22'000);
  put(10'000, 11'500);
  std::vector<DocId> deleted;
  for (DocId docid = 0; docid < 22'000; docid += 1 + random() % 100) deleted.push_back(docid);
  for (const DocId docid : deleted) documents.erase(docid);
  index.Delete(deleted);

  const std::vector<std::pair<std::string, double (*)(const FormulaRow&)>> formulas = {
      {"a * b", [](const FormulaRow& row) { return row.a * row.b; }},
      {"a + b * 500", [](const FormulaRow& row) { return row.a + row.b * 500; }},
      {"sqrt(b - 2)", [](const FormulaRow& row) { return std::sqrt(row.b - 2); }},
      {"abs(a - 1000)", [](const FormulaRow& row) { return std::fabs(row.a - 1000); }},
      {"b / a", [](const FormulaRow& row) { return row.b / row.a; }},
      {"b * decay(_geo, _geoPoint(10, -170), 900km)",
       [](const FormulaRow& row) { return row.b * NearSamoa(row); }},
      {"decay(_geo, _geoPoint(10, -170), 900km)", NearSamoa},
      {"if(kind = red, a, b)", [](const FormulaRow& row) { return row.red ? row.a : row.b; }},
      {"min(a, 3000) - max(b, 1)",
       [](const FormulaRow& row) { return std::min(row.a, 3000.0) - std::max(row.b, 1.0); }},
  };
  for (int round = 0; round < 200; ++round) {
    const auto& [text, value_of] = formulas[random() % formulas.size()];
    const bool ascending = random() % 2 == 0, only_red = random() % 3 == 0;
    const bool distinct = random() % 3 == 0, numbered = random() % 3 == 0;
    const size_t limit = 1 + random() % 30, page = random() % 4;
    std::vector<std::pair<double, DocId>> order;
    for (const auto& [docid, row] : documents) {
      if (only_red && !row.red) continue;
      double value = value_of(row);
      if (std::isfinite(value) && ascending) value = -value;
      order.emplace_back(std::isfinite(value) ? -value : kLast, docid);
    }
    std::sort(order.begin(), order.end());
    std::vector<DocId> wanted;
    std::set<int> brands;
    for (const auto& [value, docid] : order) {
      if (!distinct || brands.insert(documents[docid].brand).second) wanted.push_back(docid);
    }
    std::string expected;
    for (size_t i = page * limit; i < std::min((page + 1) * limit, wanted.size()); ++i)
      expected += std::to_string(wanted[i]) + ' ';
    std::string members = "\"sort\":[\"" + text + (ascending ? ":asc" : ":desc") + "\"]";
    if (only_red) members += R"(,"filter":"kind = red")";
    if (distinct) members += R"(,"distinct":"brand")";
    if (random() % 2 == 0) members += R"(,"facets":["brand"])";
    members +=
        numbered
            ? ",\"hitsPerPage\":" + std::to_string(limit) + ",\"page\":" + std::to_string(page + 1)
            : ",\"limit\":" + std::to_string(limit) + ",\"offset\":" + std::to_string(page * limit);
    ASSERT_EQ(NumbersOf(index, members), expected) << members;
  }
}

}  // namespace
}  // namespace gannet::search
