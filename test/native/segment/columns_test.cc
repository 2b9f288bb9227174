#include "segment/columns.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "bitmap/postings_codec.h"
#include "test_seed.h"

namespace gannet::segment {
namespace {

// Numbers before strings, each ascending: the order of a column.
using Value = std::variant<double, std::string>;

// The content of a column, in plain maps.
struct NaiveColumn {
  std::map<uint32_t, std::set<Value>> values;  // by docid; no empty ones
  std::set<uint32_t> exists, null, empty;

  // Documents by value.
  std::map<Value, std::set<uint32_t>> Documents() const {
    std::map<Value, std::set<uint32_t>> documents;
    for (const auto& [docid, own] : values) {
      for (const Value& value : own) documents[value].insert(docid);
    }
    return documents;
  }
};

struct ColumnShape {
  uint32_t documents, distinct, values_max;
  bool numbers, strings;
};

std::set<uint32_t> DocumentsOf(std::string_view postings) {
  std::vector<uint32_t> docids;
  PostingsReader(postings).ToVector(docids);
  const std::set<uint32_t> set(docids.begin(), docids.end());
  EXPECT_EQ(set.size(), docids.size()) << "listed twice";
  EXPECT_TRUE(std::is_sorted(docids.begin(), docids.end()));
  return set;
}

Value ValueAt(const ColumnReader& column, ValueOrdinal value) {
  if (value < column.number_count()) return column.numbers()[value];
  return std::string(column.string(value - column.number_count()));
}

void CompareColumns(const ColumnShape& shape, std::mt19937_64& random) {
  const auto below = [&](uint64_t end) { return static_cast<uint32_t>(random() % end); };
  NaiveColumn expected;
  FieldColumnBuilder builder;
  std::vector<uint32_t> docids;
  for (uint32_t local = 0, docid = 0; local < shape.documents; ++local) {
    docid += 1 + below(3);
    docids.push_back(docid);
    if (below(5) == 0) continue;
    builder.MarkExists(local);
    expected.exists.insert(docid);
    if (below(20) == 0) {
      builder.MarkNull(local);
      expected.null.insert(docid);
    }
    if (below(20) == 0) {
      builder.MarkEmpty(local);
      expected.empty.insert(docid);
    }
    for (uint32_t left = below(shape.values_max + 1); left > 0; --left) {
      const uint32_t n = below(shape.distinct);
      if (shape.numbers && (!shape.strings || below(2) == 0)) {
        const double number = (static_cast<double>(n) - shape.distinct / 2) / 4;
        builder.AddNumber(local, number == 0 && below(2) == 0 ? -0.0 : number);
        expected.values[docid].insert(number);
      } else {
        const std::string string = "s" + std::to_string(n);
        builder.AddString(local, string, string);
        expected.values[docid].insert(string);
      }
    }
  }
  std::string blob;
  ColumnWriter writer([&](std::string_view bytes) { blob += bytes; });
  builder.Write(docids, writer);
  EXPECT_EQ(writer.bytes(), blob.size());
  const auto column = ColumnReader::Open(blob);
  ASSERT_TRUE(column.ok());

  const std::map<Value, std::set<uint32_t>> documents = expected.Documents();
  std::vector<Value> distinct;
  for (const auto& [value, of_value] : documents) distinct.push_back(value);
  ASSERT_EQ(column->value_count(), distinct.size());
  for (ValueOrdinal value = 0; value < distinct.size(); ++value) {
    ASSERT_EQ(ValueAt(*column, value), distinct[value]);
    ASSERT_EQ(DocumentsOf(column->postings(value)), documents.at(distinct[value]));
  }
  for (const uint32_t size : {ColumnReader::kGroupValues, ColumnReader::kSuperValues}) {
    // A single group would have the same documents as the lists.
    const bool stored = distinct.size() >= size * 2;
    for (ValueOrdinal first = 0; first + size <= distinct.size() && stored; first += size) {
      std::set<uint32_t> any;
      for (uint32_t i = 0; i < size; ++i)
        any.insert(documents.at(distinct[first + i]).begin(),
                   documents.at(distinct[first + i]).end());
      ASSERT_EQ(DocumentsOf(column->StoredUnion(first, size)), any);
    }
    EXPECT_EQ(column->StoredUnion(0, size).empty(), !stored);
  }
  ASSERT_EQ(column->document_count(), docids.size());
  std::set<uint32_t> valued;
  for (uint32_t local = 0; local < docids.size(); ++local) {
    std::vector<Value> own;
    column->ForEachValue(local,
                         [&](ValueOrdinal value) { own.push_back(ValueAt(*column, value)); });
    const auto& wanted = expected.values[docids[local]];
    ASSERT_EQ(own, std::vector<Value>(wanted.begin(), wanted.end())) << "document " << local;
    if (!own.empty()) valued.insert(docids[local]);
  }
  EXPECT_EQ(DocumentsOf(column->valued_bytes()), valued);
  EXPECT_EQ(DocumentsOf(column->exists_bytes()), expected.exists);
  EXPECT_EQ(DocumentsOf(column->null_bytes()), expected.null);
  EXPECT_EQ(DocumentsOf(column->empty_bytes()), expected.empty);
}

TEST(Columns, AgreeWithPlainMaps) {
  std::mt19937_64 random(TestSeed());
  const ColumnShape shapes[] = {
      {0, 1, 1, true, false},         {1, 1, 1, true, false},
      {300, 40, 1, true, false},      {300, 40, 1, false, true},
      {300, 40, 1, true, true},       {500, 130, 4, true, false},
      {500, 130, 4, false, true},     {500, 200, 4, true, true},
      {2'000, 2'000, 3, true, true},  {25'000, 90'000, 1, true, false},
      {12'000, 9'000, 3, true, true},
  };
  for (const ColumnShape& shape : shapes) {
    SCOPED_TRACE(testing::Message() << shape.documents << " documents, " << shape.distinct
                                    << " values, up to " << shape.values_max);
    ASSERT_NO_FATAL_FAILURE(CompareColumns(shape, random));
  }
}

}  // namespace
}  // namespace gannet::segment
