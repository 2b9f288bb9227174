#include "index/evaluate_filter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.h"
#include "bitmap/random_docids.h"
#include "index/random_documents.h"

namespace gannet::index {
namespace {

using filter::Node;
using filter::Operator;

bool Below(const std::string& a, const std::string& b) { return a < b; }

// Whether a document passes, by search.md 4.5 read literally.
class NaiveFilter {
 public:
  explicit NaiveFilter(const FieldMap& fields) : fields_(fields) {}

  bool Passes(const Node& node, const json::Value& document) const {
    switch (node.kind) {
      case Node::Kind::kTrue: return true;
      case Node::Kind::kAnd:
        return std::all_of(node.children.begin(), node.children.end(), [&](auto& c) { return Passes(*c, document); });
      case Node::Kind::kOr:
        return std::any_of(node.children.begin(), node.children.end(), [&](auto& c) { return Passes(*c, document); });
      case Node::Kind::kNot: return !Passes(*node.children[0], document);
      case Node::Kind::kCondition: return Condition(node, document);
      case Node::Kind::kGeoRadius: {
        const auto point = NaivePointOf(document);
        return point && filter::HaversineMetres(*point, node.points[0]) <= node.metres;
      }
      case Node::Kind::kGeoBoundingBox: {
        const auto point = NaivePointOf(document);
        return point && filter::BoxOf(node.points[0], node.points[1]).Contains(*point);
      }
      default: return false;
    }
  }

 private:
  bool Condition(const Node& node, const json::Value& document) const {
    if (!fields_.Find(node.field)) return false;
    const NaiveValues values = NaiveValuesOf(document, node.field);
    std::vector<std::string> texts;
    std::vector<std::optional<double>> numbers;
    for (const filter::Value& value : node.values) {
      std::string form;
      text::NormalizeFacet(value.text, form);
      texts.push_back(form);
      numbers.push_back(value.number);
    }
    const auto any = [](const auto& list, auto&& test) { return std::any_of(list.begin(), list.end(), test); };
    const auto compare = [&](auto&& numeric, auto&& textual) {
      return (numbers[0] && any(values.numbers, [&](double v) { return numeric(v, *numbers[0]); })) ||
             any(values.strings, [&](const std::string& v) { return textual(v, texts[0]); });
    };
    const auto equals = [&](size_t i) {
      return (numbers[i] && any(values.numbers, [&](double v) { return v == *numbers[i]; })) ||
             any(values.strings, [&](const std::string& v) { return v == texts[i]; });
    };
    switch (node.op) {
      case Operator::kEqual: return equals(0);
      case Operator::kNotEqual: return !equals(0);
      case Operator::kIn:
        for (size_t i = 0; i < texts.size(); ++i) {
          if (equals(i)) return true;
        }
        return false;
      case Operator::kGreater:
        return compare([](double a, double b) { return a > b; }, [](auto& a, auto& b) { return Below(b, a); });
      case Operator::kGreaterEqual:
        return compare([](double a, double b) { return a >= b; }, [](auto& a, auto& b) { return !Below(a, b); });
      case Operator::kLess:
        return compare([](double a, double b) { return a < b; }, [](auto& a, auto& b) { return Below(a, b); });
      case Operator::kLessEqual:
        return compare([](double a, double b) { return a <= b; }, [](auto& a, auto& b) { return !Below(b, a); });
      case Operator::kBetween:
        return (numbers[0] && numbers[1] &&
                any(values.numbers, [&](double v) { return v >= *numbers[0] && v <= *numbers[1]; })) ||
               any(values.strings,
                   [&](const std::string& v) { return !Below(v, texts[0]) && !Below(texts[1], v); });
      case Operator::kExists: return values.exists;
      case Operator::kIsNull: return values.is_null;
      case Operator::kIsEmpty: return values.is_empty;
      case Operator::kContains:
        return any(values.strings, [&](const std::string& v) { return v.find(texts[0]) != v.npos; });
      case Operator::kStartsWith:
        if (node.values[0].text.empty()) return values.exists;
        return any(values.strings, [&](const std::string& v) { return v.starts_with(texts[0]); });
    }
    return false;
  }

  const FieldMap& fields_;
};

class RandomFilter {
 public:
  explicit RandomFilter(RandomDocuments& random) : random_(random) {}

  std::string Expression(int depth) {
    switch (depth == 0 ? 9 : random_.Below(8)) {
      case 0:
      case 1: return "(" + Expression(depth - 1) + " AND " + Expression(depth - 1) + ")";
      case 2:
      case 3: return "(" + Expression(depth - 1) + " OR " + Expression(depth - 1) + ")";
      case 4: return "NOT (" + Expression(depth - 1) + ")";
      default: return Condition();
    }
  }

 private:
  std::string Literal() {
    static const char* const kLiterals[] = {"0",  "1",    "2",       "10",   "-5",    "50",      "\"red\"", "\"ROSÉ\"",
                                            "é",  "rose", "\"tag 3\"", "true", "zebra", "\"tag 2\"", "\"\"",  "-0.5",
                                            "a",  "t",    "120",     "3.25", "\" \"",  "z"};
    return kLiterals[random_.Below(std::size(kLiterals))];
  }
  std::string Condition() {
    static const char* const kFields[] = {"mixed", "number", "number", "tag", "o.x", "o.y", "o", "never"};
    static const char* const kComparisons[] = {" = ", " != ", " > ", " >= ", " < ", " <= ", " CONTAINS ", " STARTS WITH "};
    static const char* const kStates[] = {" EXISTS", " NOT EXISTS", " IS NULL", " IS NOT NULL", " IS EMPTY", " IS NOT EMPTY"};
    const std::string field = kFields[random_.Below(std::size(kFields))];
    switch (random_.Below(8)) {
      case 0: return field + kStates[random_.Below(std::size(kStates))];
      case 1: return field + " " + Literal() + " TO " + Literal();
      case 2: return field + (random_.Below(2) ? " IN [" : " NOT IN [") + Literal() + "," + Literal() + "]";
      case 3: return Geo();
      default: return field + kComparisons[random_.Below(std::size(kComparisons))] + Literal();
    }
  }
  std::string Geo() {
    static const char* const kPlaces[] = {"48.85, 2.35", "-17, 180", "-17, -180", "90, 0", "0, 0", "-90, 10"};
    static const char* const kMetres[] = {"0", "0.5", "1", "1000", "500000", "3000000", "11000000", "19000000", "2e7", "-1"};
    static const char* const kBoxes[] = {"[90, 180], [-90, -180]", "[0, -179], [-30, 178]", "[50, 3], [40, 2]",
                                         "[48.85, 2.35], [48.85, 2.35]", "[90, 20], [85, -20]"};
    if (random_.Below(3) == 0) return "_geoBoundingBox(" + std::string(kBoxes[random_.Below(5)]) + ")";
    return "_geoRadius(" + std::string(kPlaces[random_.Below(6)]) + ", " + kMetres[random_.Below(10)] + ")";
  }
  RandomDocuments& random_;
};

std::vector<uint32_t> ListOf(const DocSet& documents) {
  std::vector<uint32_t> out;
  documents.ToVector(out);
  return out;
}

TEST(EvaluateFilter, FindsTheDocumentsThatPassOneByOne) {
  RandomDocuments random(TestSeed());
  for (int round = 0; round < 12; ++round) {
    IndexedDocuments index(kRandomSettings);
    random.Fill(index, round % 3 == 2 ? 3000 : 200);
    const auto snapshot = index.snapshot();
    std::map<DocId, json::Value> trees;
    for (const auto& [docid, text] : index.documents()) trees[docid] = json::Value::Parse(text);
    const NaiveFilter naive(*snapshot->fields);
    RandomFilter filters(random);
    for (int i = 0; i < 150; ++i) {
      const std::string text = filters.Expression(i % 4);
      auto node = filter::ParseFilter(text, {true, true});
      ASSERT_TRUE(node.ok()) << text << node.status().message();
      const FilterContext context{*snapshot, {true, true}};
      auto passing = EvaluateFilter(context, **node);
      ASSERT_TRUE(passing.ok()) << text << passing.status().message();
      std::vector<uint32_t> expected, expected_within;
      const DocSet within = random.Some(snapshot->documents);
      for (const auto& [docid, tree] : trees) {
        if (!naive.Passes(**node, tree)) continue;
        expected.push_back(docid);
        if (within.Contains(docid)) expected_within.push_back(docid);
      }
      ASSERT_EQ(ListOf(*passing), expected) << text;
      auto restricted = EvaluateFilter(context, **node, &within);
      ASSERT_TRUE(restricted.ok());
      ASSERT_EQ(ListOf(*restricted), expected_within) << text;
    }
  }
}

TEST(EvaluateFilter, JoinsWideRangesOfManyValues) {
  RandomDocuments random(TestSeed());
  IndexedDocuments index(R"({"filterableAttributes":["n","several"]})");
  std::map<DocId, std::string> batch;
  std::vector<int> numbers;
  for (uint32_t docid = 0; docid < 20000; ++docid) {
    numbers.push_back(static_cast<int>(random.Below(15000)));
    batch[docid] = "{\"n\":" + std::to_string(numbers.back()) + ",\"several\":[" + std::to_string(numbers.back()) +
                   "," + std::to_string(-numbers.back()) + "]}";
  }
  index.Put(batch);
  const auto snapshot = index.snapshot();
  for (int i = 0; i < 60; ++i) {
    const int from = static_cast<int>(random.Below(15000)), to = static_cast<int>(random.Below(15000));
    for (const std::string field : {"n", "several"}) {
      const std::string text = field + " " + std::to_string(from) + " TO " + std::to_string(to);
      std::string json;
      AppendJsonString(json, text);
      auto passing = EvaluateFilterJson(*snapshot, json, {});
      ASSERT_TRUE(passing.ok());
      std::vector<uint32_t> expected;
      for (uint32_t docid = 0; docid < numbers.size(); ++docid) {
        if (numbers[docid] >= from && numbers[docid] <= to) expected.push_back(docid);
      }
      ASSERT_EQ(ListOf(*passing), expected) << text;
    }
  }
}

class FilterRules : public testing::Test {
 protected:
  FilterRules()
      : index_(R"({"filterableAttributes":[)"
               R"({"attributePatterns":["eq"],"features":{"filter":{"equality":true,"comparison":false}}},)"
               R"({"attributePatterns":["cmp*"],"features":{"filter":{"equality":false,"comparison":true}}},)"
               R"({"attributePatterns":["off","off.*"],"features":{"facetSearch":true,"filter":{"equality":false,"comparison":false}}},)"
               R"({"attributePatterns":["_geo"],"features":{"filter":{"equality":true,"comparison":true}}},)"
               R"("off","plain","never"]})") {
    index_.Put({{1, R"({"eq":3,"cmp":3,"off":3,"plain":{"x":3},"cmpound":"z","_geo":{"lat":1,"lng":1}})"},
                {2, R"({"eq":4,"cmp":4,"off":4,"plain":{"x":-0.0}})"},
                {3, R"({"id":3})"}});
  }

  // Docids that pass, or the code of the error.
  std::string Answer(const std::string& filter) {
    std::string json;
    AppendJsonString(json, filter);
    auto passing = EvaluateFilterJson(*index_.snapshot(), json, {});
    if (!passing.ok()) {
      message_ = passing.status().message();
      return passing.status().detail();
    }
    std::string out;
    passing->ForEach([&](uint32_t docid) { out += std::to_string(docid); });
    return out;
  }

  IndexedDocuments index_;
  std::string message_;
};

TEST_F(FilterRules, DecideWhichOperatorsAFieldTakes) {
  const std::string kInvalid = "invalid_search_filter";
  EXPECT_EQ(Answer("eq = 3"), "1");
  EXPECT_EQ(Answer("eq != 3"), "23");
  EXPECT_EQ(Answer("eq > 3"), kInvalid);
  EXPECT_EQ(Answer("eq 3 TO 4"), kInvalid);
  EXPECT_EQ(Answer("eq STARTS WITH 3"), "");
  EXPECT_EQ(Answer("cmp > 3"), "2");
  EXPECT_EQ(Answer("cmp = 3"), kInvalid);
  EXPECT_EQ(Answer("cmp IN [3]"), kInvalid);
  EXPECT_EQ(Answer("cmp IS NOT NULL"), "123");
  EXPECT_EQ(Answer("cmpound > a"), "1");
  EXPECT_EQ(Answer("off = 3"), kInvalid);
  EXPECT_EQ(Answer("off EXISTS"), kInvalid);
  EXPECT_EQ(Answer("plain.x > 2"), "1");
  EXPECT_EQ(Answer("unknown = 3"), kInvalid);
  EXPECT_EQ(Answer("_geoRadius(1, 1, 10)"), kInvalid) << "a pattern does not reach reserved names";
  EXPECT_EQ(Answer("_geoPolygon([1, 1], [2, 2], [1, 2])"), kInvalid);
  EXPECT_EQ(Answer("title CONTAINS a"), "feature_not_enabled");
}

TEST_F(FilterRules, AreNotLookedAtBehindAnEmptyConjunction) {
  EXPECT_EQ(Answer("eq = 99 AND eq > 3"), "");
  EXPECT_EQ(Answer("eq > 3 OR eq = 3"), "invalid_search_filter");
  EXPECT_EQ(Answer("eq = 99 AND unknown > 3"), "invalid_search_filter") << "attributes are checked first";
}

TEST_F(FilterRules, GiveNothingOnAFieldNeverSeenButAllForItsNegation) {
  EXPECT_EQ(Answer("never = 1"), "");
  EXPECT_EQ(Answer("never != 1"), "");
  EXPECT_EQ(Answer("never NOT IN [1]"), "123");
  EXPECT_EQ(Answer("NOT never > 1"), "123");
  EXPECT_EQ(Answer("never NOT EXISTS"), "123");
  EXPECT_EQ(Answer("never IS NOT NULL"), "123");
}

TEST_F(FilterRules, TakeMinusZeroForSomethingBelowZero) {
  EXPECT_EQ(Answer("plain.x = 0"), "2");
  EXPECT_EQ(Answer("plain.x = -0"), "");
  EXPECT_EQ(Answer("plain.x <= -0"), "");
  EXPECT_EQ(Answer("plain.x > -0"), "12");
}

TEST_F(FilterRules, NameTheFaultyPartOfTheExpression) {
  EXPECT_EQ(Answer("eq = 1 OR (price > 3)"), "invalid_search_filter");
  EXPECT_NE(message_.find("`price` is not filterable"), std::string::npos) << message_;
  EXPECT_NE(message_.find("12:17 eq = 1 OR (price > 3)"), std::string::npos) << message_;
}

TEST(EvaluateFilter, FindsShapesThatMeetTheArea) {
  IndexedDocuments index(R"({"filterableAttributes":["_geojson","_geo"]})");
  index.Put({{0, R"({"_geojson":{"type":"Point","coordinates":[2.3376,48.8606]}})"},
             {1, R"({"_geojson":{"type":"Polygon","coordinates":[[[2,48],[3,48],[3,49],[2,49],[2,48]]]}})"},
             {2, R"({"_geojson":{"type":"LineString","coordinates":[[4.8,45.7],[5.4,43.3]]}})"},
             {3, R"({"_geo":{"lat":48.8,"lng":2.3}})"},
             {4, R"({"name":"nowhere"})"}});
  const auto answer = [&](const std::string& text) {
    auto passing = EvaluateFilterJson(*index.snapshot(), "\"" + text + "\"", {});
    EXPECT_TRUE(passing.ok());
    return passing.ok() ? ListOf(*passing) : std::vector<uint32_t>();
  };
  using List = std::vector<uint32_t>;
  EXPECT_EQ(answer("_geoPolygon([48.5, 2.1], [48.5, 2.9], [49.5, 2.9], [49.5, 2.1])"), (List{0, 1}));
  EXPECT_EQ(answer("_geoBoundingBox([46, 6], [44, 4])"), (List{2}));
  EXPECT_EQ(answer("_geoBoundingBox([49, 3], [48, 2])"), (List{0, 1, 3}));
  EXPECT_EQ(answer("_geoRadius(48.8606, 2.3376, 1000)"), (List{0, 1}));
  EXPECT_EQ(answer("NOT _geoPolygon([48.5, 2.1], [48.5, 2.9], [49.5, 2.9], [49.5, 2.1])"), (List{2, 3, 4}));
  index.Delete({1});
  EXPECT_EQ(answer("_geoRadius(48.8606, 2.3376, 1000)"), (List{0}));
}

}  // namespace
}  // namespace gannet::index
