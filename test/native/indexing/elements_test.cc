// Conditions on one element pass the same documents by columns and by what is stored, whatever
// happened to the segments.
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "filter/parser.h"
#include "index/element_column_filter.h"
#include "index/element_filter.h"
#include "index/evaluate_filter.h"
#include "index/verify.h"
#include "indexing/write_path_model.h"
#include "segment/rows.h"
#include "test_seed.h"

namespace gannet::indexing {
namespace {

constexpr double kNow = 1'767'225'600;  // 2026

class ElementsTest : public testing::Test {
 protected:
  ElementsTest() : random_(TestSeed()) {
    auto opened = index::Index::Open(folder_.path());
    EXPECT_TRUE(opened.ok());
    index_ = *opened;
  }

  uint64_t Below(uint64_t end) { return random_() % end; }
  std::string Pick(std::initializer_list<const char*> list) {
    return *(list.begin() + Below(list.size()));
  }

  void Settings(const std::string& filterable) {
    const auto result =
        RunSteps(*index_, SettingsStep(R"({"filterableAttributes":)" + filterable + "}"), {});
    ASSERT_TRUE(result.ok()) << result.status().message();
  }
  void Run(const std::string& steps, const std::string& payload, JobOptions options = {}) {
    const auto result = RunSteps(*index_, steps, {payload}, options);
    ASSERT_TRUE(result.ok()) << result.status().message();
  }

  std::string Value() {
    switch (Below(12)) {
      case 0: return "null";
      case 1: return Pick({"\"\"", "[]", "{}", "\"  \"", "[null]", "[[]]", "true"});
      case 2: return "[" + Value() + "," + Value() + "]";
      case 3:
        return Pick({"\"Red\"", "\"RED \"", "\"\u00c9t\u00e9\"", "\"2026-01-31\"",
                     "\"2026-01-31T10:00:00+01:00\""});
      case 4: return Pick({"-0", "0.0", "-3.5", "1e300", "1769817600", "\"7\""});
      case 5: return "\"" + std::string(460 + Below(20), 'x') + "\"";
      case 6:
      case 7: return "\"" + Pick({"red", "green", "blue"}) + "\"";
      default: return std::to_string(Below(12));
    }
  }
  // depth: of the objects inside
  std::string Element(int depth) {
    std::string out;
    const auto add = [&](const std::string& name, const std::string& value) {
      out += (out.empty() ? "" : ",") + ("\"" + name + "\":") + value;
    };
    for (uint64_t left = Below(4); left > 0; --left)
      add(Pick({"price", "colour", "sold", "price", "colour", "rare"}), Value());
    if (Below(3) == 0) add("size", "{\"w\":" + Value() + "}");
    if (Below(10) == 0) add("size.w", Value());
    if (Below(30) == 0) add("lines", Value());
    if (depth > 0 && Below(2) == 0) add(Below(12) == 0 ? "size.lines" : "lines", Items(depth - 1));
    return "{" + out + "}";
  }
  std::string Items(int depth) {
    switch (Below(8)) {
      case 0: return Element(depth);
      case 1: return "[" + Value() + ",[" + Element(depth) + "]]";
      case 2: return Value();
      default: break;
    }
    std::string out;
    for (uint64_t left = Below(5); left > 0; --left)
      out += (out.empty() ? "" : ",") + Element(depth);
    return "[" + out + "]";
  }
  std::string Documents(size_t count, size_t ids) {
    std::string out;
    for (size_t i = 0; i < count; ++i) {
      out += (out.empty() ? "[" : ",") + ("{\"id\":" + std::to_string(Below(ids)));
      if (Below(5) > 0) out += ",\"items\":" + Items(Below(4) == 0 ? 6 : 2);
      if (Below(20) == 0) out += ",\"items.price\":3";
      if (Below(5) == 0) out += ",\"deep\":[" + Element(1) + ",{\"items\":" + Items(1) + "}]";
      out += "}";
    }
    return out + "]";
  }

  std::string Condition(int depth) {
    if (depth > 0 && Below(2) == 0) {
      switch (Below(4)) {
        case 0: return "(" + Condition(depth - 1) + " OR " + Condition(depth - 1) + ")";
        case 1: return "NOT (" + Condition(depth - 1) + ")";
        case 2:
          return Pick({"lines", "size", "lines.lines", "size.lines"}) + "[" + Condition(depth - 1) +
                 "]";
        default: return "(" + Condition(depth - 1) + " AND " + Condition(depth - 1) + ")";
      }
    }
    const std::string field = Pick({"price", "colour", "sold", "rare", "size.w", "size", "lines",
                                    "lines.price", "lines.colour", "lines.lines.price", "never"});
    const auto operand = [&] {
      return Pick({"red", "RED", "green", "0", "3", "-0", "7", "11", "\u00e9t\u00e9", "x", "2026"});
    };
    if (field == "sold") {
      return field + " " + Pick({"=", "!=", "<", ">=", ">"}) + " " +
             Pick({"\"2026-01-31\"", "\"2026-01-31T09:00:00Z\"", "\"2026-03-01\""});
    }
    switch (Below(8)) {
      case 0: return field + " EXISTS";
      case 1: return field + Pick({" IS NULL", " IS NOT NULL", " NOT EXISTS"});
      case 2: return field + Pick({" IS EMPTY", " IS NOT EMPTY"});
      case 3: return field + Pick({" IN [", " NOT IN ["}) + operand() + ", " + operand() + "]";
      case 4: return field + Pick({" CONTAINS ", " STARTS WITH "}) + Pick({"r", "e", "\"\"", "x"});
      case 5: return field + " " + operand() + " TO " + operand();
      default:
        return field + " " + Pick({"=", "!=", "<", "<=", ">", ">=", "=", "="}) + " " + operand();
    }
  }

  // Compares both ways for some filters. Returns in how many segments the columns could tell.
  size_t Compare(int filters) {
    const auto snapshot = index_->snapshot();
    size_t answered = 0;
    for (int i = 0; i < filters; ++i) {
      const std::string text =
          Pick({"items", "items", "items", "items.lines", "deep.items", "deep", "items.size"}) +
          "[" + Condition(3) + "]";
      const auto node = filter::ParseFilterJson(Quoted(text), {true, true});
      if (!node.ok()) {
        ADD_FAILURE() << text << ": " << node.status().message();
        return 0;
      }
      const index::ElementFilter by_rows(**node, *snapshot, kNow);
      const index::ElementColumnFilter by_columns(**node, *snapshot, kNow);
      DocSet all;
      for (const auto& segment : snapshot->segments) {
        std::vector<uint32_t> passing;
        segment::RowCodec codec(snapshot->dictionary);
        std::vector<segment::RowField> row;
        segment->live.ForEach([&](DocId docid) {
          const auto local = static_cast<size_t>(segment->rows->local_docids().Find(docid));
          const auto bytes = codec.Expand(segment->rows->at(local));
          EXPECT_TRUE(bytes.ok() && segment::ParseRow(*bytes, row));
          if (by_rows.Passes(row)) passing.push_back(docid);
        });
        const DocSet expected = DocSet::FromSorted(passing);
        all |= expected;
        const auto found = by_columns.Passing(*segment, segment->live, nullptr);
        if (!found) continue;
        ++answered;
        EXPECT_TRUE(*found == expected)
            << text << ": " << found->size() << " instead of " << expected.size();
      }
      const auto whole = index::EvaluateFilter({*snapshot, {true, true}, nullptr, kNow}, **node);
      EXPECT_TRUE(whole.ok() && *whole == all) << text;
    }
    return answered;
  }

  TestFolder folder_;
  std::mt19937_64 random_;
  std::shared_ptr<index::Index> index_;
};

constexpr const char* kElements =
    R"([{"attributePatterns":["items","deep"],"features":{"filter":{"elements":true}}},)"
    R"({"attributePatterns":["items.sold","deep.items.sold","items.lines.sold"],)"
    R"("features":{"filter":{"date":true}}}])";
// With one more column.
const std::string kMore = std::string(kElements, std::strlen(kElements) - 1) + ",\"id\"]";

TEST_F(ElementsTest, PassByColumnsAsByWhatIsStored) {
  Settings(kElements);
  size_t answered = 0;
  for (int round = 0; round < 24; ++round) {
    SCOPED_TRACE(testing::Message() << "round " << round);
    // A little memory makes several segments, or spills columns.
    JobOptions options;
    if (Below(3) == 0) options.memory_bytes = 1;
    switch (Below(6)) {
      case 0:
        Settings(Pick({R"(["items.price"])", R"(["items","deep.items"])", kMore.c_str()}));
        Settings(Below(2) == 0 ? kElements : kMore);
        break;
      case 1: ASSERT_TRUE(MergeToOne(*index_).ok()); break;
      case 2:
        if (index_->snapshot()->segments.size() > 1) {
          ASSERT_TRUE(MergeThese(*index_, {0, 1}).ok());
        }
        break;
      default: Run(DocumentsStep(0), Documents(1 + Below(60), 200), options);
    }
    answered += Compare(20);
    if (HasFailure()) return;
  }
  EXPECT_GT(answered, 100u);
  const std::string path = folder_.path();
  index_.reset();
  EXPECT_TRUE(index::VerifyIndex(path).faults.empty());
}

}  // namespace
}  // namespace gannet::indexing
