// Searches that are sorted by a formula.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/json_value.h"
#include "index/indexed_documents.h"
#include "search/complete_request.h"
#include "search/execute.h"

namespace gannet::search {
namespace {

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

}  // namespace
}  // namespace gannet::search
