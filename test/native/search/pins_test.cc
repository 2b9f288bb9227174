#include "search/pins.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <vector>

#include "index/indexed_documents.h"
#include "test_seed.h"

namespace gannet::search {
namespace {

TEST(KeepPins, FiltersWithinTheTimeOfASearch) {
  IndexedDocuments index(R"({"filterableAttributes":["n"]})");
  index.Put({{0, R"({"n":1})"}, {1, R"({"n":2})"}, {2, R"({"n":1})"}});
  for (const bool over : {false, true}) {
    SearchRequest request;
    request.filter = "\"n = 1\"";
    request.cancelled = std::make_shared<std::atomic<bool>>(over);
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

TEST(KeepPins, KeepsTheFirstPinOfADocument) {
  IndexedDocuments index("{}");
  index.Put({{0, R"({"n":1})"}, {1, R"({"n":2})"}});
  SearchRequest request;
  std::vector<PinnedDocument> pins = {{1, 7}, {1, 2}, {9, 0}, {0, 3}};
  ASSERT_TRUE(KeepPins(*index.snapshot(), request, pins).ok());
  ASSERT_EQ(pins.size(), 2u);
  EXPECT_EQ(pins[0].docid, 0u);
  EXPECT_EQ(pins[1].docid, 1u);
  EXPECT_EQ(pins[1].position, 7u);
}

std::vector<DocId> DocidsOf(const std::vector<PageHit>& page) {
  std::vector<DocId> docids;
  for (const PageHit& hit : page) docids.push_back(hit.hit.docid);
  return docids;
}

TEST(InsertPins, PutsPinsAtTheirPositionsAndTheRestAfterTheLastHit) {
  const std::vector<Hit> hits = {{10, nullptr}, {11, nullptr}, {12, nullptr}};
  const std::vector<PinnedDocument> pins = {{1, 0}, {2, 0}, {3, 3}, {4, 100}};
  const auto page = InsertPins(hits, pins, {0, 20});
  EXPECT_EQ(DocidsOf(page), (std::vector<DocId>{1, 2, 10, 3, 11, 12, 4}));
  for (const PageHit& hit : page) EXPECT_EQ(hit.pin != nullptr, hit.hit.docid < 10);
  EXPECT_EQ(DocidsOf(InsertPins(hits, pins, {2, 5})), (std::vector<DocId>{10, 3, 11}));
  EXPECT_TRUE(InsertPins(hits, pins, {7, 9}).empty());
  EXPECT_TRUE(InsertPins(hits, pins, {3, 3}).empty());
}

TEST(InsertPins, WithoutPinsThePageIsItsHits) {
  const std::vector<Hit> hits = {{10, nullptr}, {11, nullptr}};
  EXPECT_EQ(DocidsOf(InsertPins(hits, {}, {40, 60})), (std::vector<DocId>{10, 11}));
}

// The reference model: each position takes the pin for it, if there is one, else a hit.
TEST(InsertPins, EqualsAWalkOverAllPositions) {
  std::mt19937_64 random(TestSeed());
  for (int i = 0; i < 2000; ++i) {
    std::vector<Hit> hits;
    for (uint64_t n = random() % 12; n > 0; --n)
      hits.push_back({100 + static_cast<DocId>(hits.size()), nullptr});
    std::vector<PinnedDocument> pins;
    uint32_t position = 0;
    for (uint64_t n = 1 + random() % 5; n > 0; --n) {
      position += static_cast<uint32_t>(random() % 4);
      pins.push_back({static_cast<DocId>(pins.size()), position});
    }
    std::vector<DocId> all, hits_left, pins_left;
    for (const Hit& hit : hits) hits_left.push_back(hit.docid);
    while (!hits_left.empty() || pins_left.size() < pins.size()) {
      const size_t pin = pins_left.size();
      const bool due = pin < pins.size() && pins[pin].position <= all.size();
      if (due || hits_left.empty()) {
        all.push_back(pins[pin].docid);
        pins_left.push_back(pins[pin].docid);
      } else {
        all.push_back(hits_left.front());
        hits_left.erase(hits_left.begin());
      }
    }
    const size_t begin = random() % 8, end = begin + random() % 8;
    const size_t from = std::min(begin, all.size()), to = std::min(end, all.size());
    ASSERT_EQ(DocidsOf(InsertPins(hits, pins, {begin, end})),
              std::vector<DocId>(all.begin() + static_cast<ptrdiff_t>(from),
                                 all.begin() + static_cast<ptrdiff_t>(to)));
  }
}

}  // namespace
}  // namespace gannet::search
