#include "search/diversity.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "comparisons.h"
#include "index/indexed_documents.h"
#include "search/first_hits.h"
#include "test_seed.h"

namespace gannet::search {
namespace {

using Values = std::map<DocId, std::set<std::string>>;

// Page by page, as docs/behaviour/results.md defines it: the hits without pins.
Docids NaiveOrder(Docids ranked, const SearchRequest& request, const Values& values) {
  Docids shown;
  size_t pin = 0;
  for (uint64_t begin = 0; !ranked.empty(); begin += request.page.limit) {
    std::map<std::string, uint64_t> counts;
    uint64_t slots = 0;
    for (uint64_t position = begin; position < begin + request.page.limit; ++position) {
      if (pin < request.pinned_at.size() && request.pinned_at[pin].position <= position) {
        for (const std::string& value : values.at(request.pinned_at[pin++].docid)) ++counts[value];
      } else {
        ++slots;
      }
    }
    Docids page;
    for (const bool any : {false, true}) {
      for (const DocId docid : ranked) {
        if (page.size() == slots) break;
        if (std::find(page.begin(), page.end(), docid) != page.end()) continue;
        const std::set<std::string>& own = values.at(docid);
        const bool fits = std::all_of(own.begin(), own.end(), [&](const std::string& value) {
          return counts[value] < request.diversity->max;
        });
        if (!fits && !any) continue;
        for (const std::string& value : own) ++counts[value];
        page.push_back(docid);
      }
    }
    for (const DocId docid : page) std::erase(ranked, docid);
    shown.insert(shown.end(), page.begin(), page.end());
  }
  return shown;
}

TEST(DiversityOracle, FillsPagesAsTheDefinitionSays) {
  std::mt19937_64 random(TestSeed());
  const auto below = [&](uint64_t end) { return random() % end; };
  for (Comparisons comparisons(1500); comparisons.Left();) {
    IndexedDocuments index(R"({"filterableAttributes":["v"]})");
    Values values;
    std::map<DocId, std::string> batch;
    const uint64_t kinds = 1 + below(12);
    for (DocId docid = 0; docid < 60; ++docid) {
      std::string list;
      for (uint64_t n = below(3); n > 0; --n) {
        const std::string value = std::to_string(below(kinds));
        const bool is_number = below(3) == 0;
        list += (list.empty() ? "" : ",") + (is_number ? value : '"' + value + '"');
        values[docid].insert((is_number ? "n" : "s") + value);
      }
      values.try_emplace(docid);
      batch[docid] = R"({"v":[)" + list + "]}";
      if (batch.size() < 20) continue;
      index.Put(batch);  // a segment
      batch.clear();
    }
    const auto snapshot = index.snapshot();
    for (int n = 0; n < 50 && comparisons.Next(); ++n) {
      Docids order;
      for (DocId docid = 0; docid < 60; ++docid) order.push_back(docid);
      std::shuffle(order.begin(), order.end(), random);
      SearchRequest request;
      request.diversity = Diversity{"v", 1 + below(3)};
      request.page.limit = 1 + below(25);
      for (uint64_t pins = below(4); pins > 0; --pins) {
        request.pinned_at.push_back({order.back(), static_cast<uint32_t>(below(80))});
        order.pop_back();
      }
      std::sort(request.pinned_at.begin(), request.pinned_at.end(),
                [](const auto& a, const auto& b) { return a.position < b.position; });
      std::vector<Hit> ranked;
      for (const DocId docid : order) ranked.push_back({docid, nullptr});
      const uint64_t looks = below(2) == 0 ? kDiversityLooks : below(400);
      const Docids all = DocidsOf(Diversify(*snapshot, request, ranked, 1000, true, looks).hits);
      if (looks == kDiversityLooks) {
        ASSERT_EQ(all, NaiveOrder(order, request, values));
      }
      Docids sorted = all, wanted = order;
      std::sort(sorted.begin(), sorted.end());
      std::sort(wanted.begin(), wanted.end());
      ASSERT_EQ(sorted, wanted);
      // A prefix of the list either does not suffice, or leads to the same hits.
      const uint64_t end = 1 + below(60);
      const std::vector<Hit> first(ranked.begin(), ranked.begin() + below(ranked.size()));
      const DiverseHits some = Diversify(*snapshot, request, first, end, false, looks);
      const Docids hits = DocidsOf(some.hits);
      ASSERT_LE(hits.size(), end);
      ASSERT_TRUE(std::equal(hits.begin(), hits.end(), all.begin()));
      if (!some.cut) {
        ASSERT_EQ(Docids(all.begin(), all.begin() + hits.size()), hits);
        ASSERT_GE(hits.size() + request.pinned_at.size(), end);
      }
    }
  }
}

}  // namespace
}  // namespace gannet::search
