// Columns with enough values for stored unions: code that walks over them must skip exactly the
// unions without documents.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "bitmap/random_docids.h"
#include "index/evaluate_filter.h"
#include "index/random_documents.h"
#include "search/ranking/sort.h"
#include "search/results/facet_counter.h"

namespace gannet::search {
namespace {

class ManyValues : public testing::Test {
 protected:
  static constexpr uint32_t kDocuments = 24000;

  ManyValues()
      : random_(TestSeed()),
        index_(
            R"({"filterableAttributes":["one","several"],"sortableAttributes":["one","several"]})") {
    std::map<DocId, std::string> batch;
    for (DocId docid = 0; docid < kDocuments; ++docid) {
      const auto number = static_cast<int>(random_.Below(9000));
      const std::string string = "s" + std::to_string(100000 + random_.Below(9000));
      const bool is_number = random_.Below(2) == 0;
      one_.push_back(is_number ? number : -1);
      batch[docid] = "{\"one\":" + (is_number ? std::to_string(number) : "\"" + string + "\"") +
                     ",\"several\":[" + std::to_string(number) + ",\"" + string + "\"]}";
      several_.push_back({number, string});
    }
    index_.Put(batch);
    index_.Delete({5, 77, 1000});
  }

  // Documents with values close together, so that most unions have none of them.
  DocSet Close() {
    const auto from = static_cast<int>(random_.Below(9000)),
               to = from + static_cast<int>(random_.Below(200));
    std::vector<uint32_t> docids;
    for (DocId docid = 0; docid < kDocuments; ++docid) {
      if (several_[docid].first >= from && several_[docid].first <= to) docids.push_back(docid);
    }
    return DocSet::FromSorted(docids) & index_.snapshot()->documents;
  }

  RandomDocuments random_;
  IndexedDocuments index_;
  std::vector<int> one_;
  std::vector<std::pair<int, std::string>> several_;
};

TEST_F(ManyValues, AreCountedAlikeInEveryWay) {
  const auto snapshot = index_.snapshot();
  const FieldId field = *snapshot->fields->Find("several");
  for (int round = 0; round < 40; ++round) {
    const DocSet candidates = round % 4 == 0 ? random_.Some(snapshot->documents) : Close();
    std::map<double, uint64_t> numbers;
    std::map<std::string, uint64_t> strings;
    candidates.ForEach([&](DocId docid) {
      ++numbers[several_[docid].first];
      ++strings[several_[docid].second];
    });
    // If few values are wanted, they are intersected; if many, documents are counted.
    FieldCounter counter(*snapshot, field, candidates, round % 2 == 0 ? 1 : UINT64_MAX);
    const auto range = counter.NumberRange();
    ASSERT_EQ(range.has_value(), !numbers.empty());
    if (range) {
      ASSERT_EQ(*range, std::pair(numbers.begin()->first, numbers.rbegin()->first));
    }
    auto number = numbers.begin();
    counter.ForEachNumber([&](const FieldCounter::Value& value) {
      EXPECT_TRUE(number != numbers.end() && value.number == number->first &&
                  value.count == number->second);
      ++number;
      return true;
    });
    ASSERT_TRUE(number == numbers.end());
    auto string = strings.begin();
    counter.ForEachString([&](const FieldCounter::Value& value) {
      EXPECT_TRUE(string != strings.end() && value.string == string->first &&
                  value.count == string->second);
      ++string;
      return true;
    });
    ASSERT_TRUE(string == strings.end());
  }
}

TEST_F(ManyValues, AreSortedInBothDirections) {
  const auto snapshot = index_.snapshot();
  for (int round = 0; round < 40; ++round) {
    const DocSet documents = round % 4 == 0 ? random_.Some(snapshot->documents) : Close();
    for (const std::string field : {"one", "several"}) {
      for (const bool ascending : {true, false}) {
        using Key = std::tuple<int, double, std::string>;
        const auto key = [&](DocId docid) {
          if (field == "several" || one_[docid] >= 0) return Key{0, several_[docid].first, ""};
          return Key{1, 0, several_[docid].second};
        };
        const auto before = [&](const Key& a, const Key& b) {
          if (std::get<0>(a) != std::get<0>(b)) return std::get<0>(a) < std::get<0>(b);
          return ascending ? a < b : b < a;
        };
        std::map<Key, std::vector<uint32_t>, decltype(before)> expected(before);
        documents.ForEach([&](DocId docid) { expected[key(docid)].push_back(docid); });
        SortCriterion criterion;
        criterion.field = field;
        criterion.ascending = ascending;
        SortedBuckets sorted(*snapshot, criterion, documents);
        DocSet bucket;
        SortValue value;
        for (const auto& [value_key, docids] : expected) {
          ASSERT_TRUE(sorted.Next(bucket, value));
          ASSERT_EQ(bucket, DocSet::FromSorted(docids)) << criterion.label();
          ASSERT_EQ(value.number, std::get<1>(value_key));
          ASSERT_EQ(value.string, std::get<2>(value_key));
        }
        ASSERT_FALSE(sorted.Next(bucket, value));
      }
    }
  }
}

}  // namespace
}  // namespace gannet::search
