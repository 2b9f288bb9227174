#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "index/indexed_documents.h"
#include "search/execute.h"

namespace gannet::search {
namespace {

TEST(KeepPins, FiltersWithinTheTimeOfASearch) {
  IndexedDocuments index(R"({"filterableAttributes":["n"]})");
  index.Put({{0, R"({"n":1})"}, {1, R"({"n":2})"}, {2, R"({"n":1})"}});
  for (const bool over : {false, true}) {
    SearchRequest request;
    request.filter = "\"n = 1\"";
    request.gone = std::make_shared<std::atomic<bool>>(over);
    std::vector<PinnedDocument> pins = {{2, 5}, {1, 0}, {0, 3}};
    ASSERT_TRUE(KeepPins(*index.snapshot(), request, pins).ok());
    ASSERT_EQ(pins.size(), over ? 0u : 2u);
    ASSERT_EQ(request.matching->size(), pins.size());
    if (over) continue;
    EXPECT_EQ(pins[0].docid, 0u);
    EXPECT_EQ(pins[1].docid, 2u);
    EXPECT_EQ(request.excluded->size(), 2u);
  }
}

}  // namespace
}  // namespace gannet::search
