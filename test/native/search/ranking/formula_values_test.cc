#include "search/ranking/formula_values.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/moment.h"
#include "index/evaluate_filter.h"
#include "index/indexed_documents.h"
#include "search/ranking/formula_first.h"

namespace gannet::search {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

uint32_t FormulaSeed() {
  const char* given = std::getenv("GANNET_SEED");
  return given == nullptr ? 5 : static_cast<uint32_t>(std::strtoul(given, nullptr, 10));
}

std::string FaultOf(const std::string& text) {
  const auto formula = filter::ParseFormula(text, {});
  return formula.ok() ? "" : formula.status().message();
}

TEST(ParseFormula, NamesThePositionOfAFault) {
  EXPECT_EQ(FaultOf("a + "),
            "at character 5: expected an attribute, a number or `(`, found the end");
  EXPECT_EQ(FaultOf("ä + foo(1)"), "at character 5: there is no function `foo`");
  EXPECT_EQ(FaultOf("(1 + 2"), "at character 7: expected `)`, found the end");
  EXPECT_EQ(FaultOf("1 + 2 3"), "at character 7: unexpected `3`");
  EXPECT_EQ(FaultOf("pow(1)"), "at character 6: expected `,`, found `)`");
  EXPECT_EQ(FaultOf("min(1)"), "at character 6: expected `,`, found `)`");
  EXPECT_EQ(FaultOf("decay(a, now, 30)"),
            "at character 15: expected a number with a unit, `s`, `m`, `h`, `d` or `w`");
  EXPECT_EQ(FaultOf("decay(a, 1, 0)"), "at character 13: the scale must be more than 0");
  EXPECT_EQ(FaultOf("decay(a, 1, 2, round)"),
            "at character 16: expected `exp`, `gauss` or `linear`");
  EXPECT_NE(FaultOf("if(a =, 1, 2)"), "");
  EXPECT_EQ(FaultOf("if(a = \"x, (y\", 1, 2)"), "");
  EXPECT_EQ(FaultOf("if(a IN [1, 2] AND _geoRadius(1, 2, 3), 1, 2)"), "");
  EXPECT_EQ(FaultOf("_geo + 1"),
            "at character 1: `_geo` is no number; use `decay(_geo, _geoPoint(lat, lng), 5km)`");
}

TEST(ParseFormula, IsBounded) {
  EXPECT_NE(FaultOf(std::string(40, '(') + "1" + std::string(40, ')')), "");
  EXPECT_NE(FaultOf(std::string(3'000, ' ') + "1"), "");
  std::string many = "1";
  for (int i = 0; i < 200; ++i) many += "+1";
  EXPECT_NE(FaultOf(many), "");
  EXPECT_NE(FaultOf(std::string(1'000, '-') + "1"), "");
  std::string conditions = "1";
  for (int i = 0; i < 11; ++i) conditions += "+if(a=1,1,2)";
  EXPECT_NE(FaultOf(conditions), "");
}

TEST(LooksLikeFormula, IfItCallsAFunctionOrHasASpacedOperator) {
  for (const char* text : {"a * b", "log(a)", "1 + decay (a, 1, 2)", "_rankingScore"})
    EXPECT_TRUE(filter::LooksLikeFormula(text)) << text;
  for (const char* text : {"a", "a-b", "blog(x)", "size (cm)", "a/b", "_geoPoint(1, 2)"})
    EXPECT_FALSE(filter::LooksLikeFormula(text)) << text;
}

// A document as the reference model sees it.
struct Row {
  std::optional<double> a, b, date;
  std::string kind;
};

// A random formula: its text, and a function that computes it for a row.
struct Random {
  std::string text;
  std::function<double(const Row&)> value;
};

double OrNan(double value) { return std::isfinite(value) ? value : kNan; }

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  size_t Below(size_t end) { return random_() % end; }

  Random Any(int depth) {
    if (depth == 0) return Leaf();
    switch (Below(9)) {
      case 0: return Leaf();
      case 1: return Unary("-", "", depth, [](double x) { return -x; });
      case 2: return Unary("log(", ")", depth, [](double x) { return std::log(x); });
      case 3: return Unary("sqrt(", ")", depth, [](double x) { return std::sqrt(x); });
      case 4: return Unary("abs(", ")", depth, [](double x) { return std::fabs(x); });
      case 5: return Condition(depth);
      default: return Binary(depth);
    }
  }

 private:
  Random Leaf() {
    switch (Below(5)) {
      case 0: return {"a", [](const Row& row) { return row.a.value_or(0); }};
      case 1: return {"\"b\"", [](const Row& row) { return row.b.value_or(0); }};
      case 2: return Decay();
      default: {
        const double number = static_cast<double>(Below(40)) / 4;
        std::string text = std::to_string(number);
        return {text, [number](const Row&) { return number; }};
      }
    }
  }
  Random Decay() {
    static constexpr const char* kShapes[] = {"", ", gauss", ", linear", ", exp"};
    const size_t shape = Below(4);
    const bool date = Below(2) == 0;
    std::string text = date ? "decay(date, '2026-01-01', 10d" : "decay(a, 3, 2";
    const double origin = date ? *ParseDate("2026-01-01") : 3, scale = date ? 864'000 : 2;
    return {text + kShapes[shape] + ")", [=](const Row& row) {
              const std::optional<double> value = date ? row.date : row.a;
              if (!value) return 0.0;
              const double share = std::fabs(*value - origin) / scale;
              if (shape == 1) return std::exp2(-share * share);
              return shape == 2 ? std::max(0.0, 1 - share / 2) : std::exp2(-share);
            }};
  }
  Random Unary(const std::string& before, const std::string& after, int depth,
               double (*apply)(double)) {
    const Random inner = Any(depth - 1);
    return {before + "(" + inner.text + ")" + after, [=](const Row& row) {
              const double x = inner.value(row);
              return std::isnan(x) ? kNan : OrNan(apply(x));
            }};
  }
  Random Condition(int depth) {
    const Random yes = Any(depth - 1), no = Any(depth - 1);
    return {"if(kind = red, " + yes.text + ", " + no.text + ")",
            [=](const Row& row) { return row.kind == "red" ? yes.value(row) : no.value(row); }};
  }
  Random Binary(int depth) {
    static const std::vector<std::pair<std::string, double (*)(double, double)>> kOperators = {
        {"+", [](double x, double y) { return x + y; }},
        {"-", [](double x, double y) { return x - y; }},
        {"*", [](double x, double y) { return x * y; }},
        {"/", [](double x, double y) { return x / y; }},
        {"pow", [](double x, double y) { return std::pow(x, y); }},
        {"min", [](double x, double y) { return std::min(x, y); }},
        {"max", [](double x, double y) { return std::max(x, y); }},
    };
    const auto& [name, apply] = kOperators[Below(kOperators.size())];
    const Random left = Any(depth - 1), right = Any(depth - 1);
    const std::string text = name.size() == 1
                                 ? "(" + left.text + ") " + name + " (" + right.text + ")"
                                 : name + "(" + left.text + ", " + right.text + ")";
    return {text, [left, right, apply = apply](const Row& row) {
              const double x = left.value(row), y = right.value(row);
              return std::isnan(x) || std::isnan(y) ? kNan : OrNan(apply(x, y));
            }};
  }

  std::mt19937 random_;
};

// The documents up to the last wanted one in order, with those that equal it.
std::vector<std::pair<DocId, double>> Beginning(std::vector<DocumentValue> values,
                                                const FirstOptions& options) {
  // Documents without a value come last.
  const auto rank = [&](const DocumentValue& one) {
    if (std::isnan(one.value)) return -std::numeric_limits<double>::infinity();
    return options.ascending ? -one.value : one.value;
  };
  std::sort(values.begin(), values.end(), [&](const DocumentValue& a, const DocumentValue& b) {
    return std::pair(-rank(a), a.docid) < std::pair(-rank(b), b.docid);
  });
  std::vector<std::pair<DocId, double>> beginning;
  for (const DocumentValue& one : values) {
    if (beginning.size() >= options.wanted && rank(one) != beginning.back().second) break;
    beginning.emplace_back(one.docid, rank(one));
  }
  return beginning;
}

TEST(FormulaValues, AreThoseOfAPlainLoop) {
  SCOPED_TRACE("GANNET_SEED=" + std::to_string(FormulaSeed()));
  Generator generator(FormulaSeed());
  IndexedDocuments index(
      R"({"filterableAttributes":["kind"],"sortableAttributes":["a","b","date"]})");
  std::vector<Row> rows;
  for (int segment = 0; segment < 3; ++segment) {
    std::map<DocId, std::string> batch;
    for (int i = 0; i < 700; ++i) {
      Row row;
      std::string json = "{";
      const auto number = [&](const char* name, std::optional<double>& value) {
        if (generator.Below(4) == 0) return;
        value = static_cast<double>(generator.Below(60)) / 4 - 5;
        json += std::string("\"") + name + "\":" + std::to_string(*value) + ",";
      };
      number("a", row.a);
      number("b", row.b);
      if (generator.Below(3) > 0) {
        const std::string day = std::to_string(10 + generator.Below(18));
        const std::string date = "2026-01-" + day + (generator.Below(2) == 0 ? "" : "T06:30:00Z");
        row.date = ParseDate(date);
        json += "\"date\":\"" + date + "\",";
      }
      row.kind = generator.Below(2) == 0 ? "red" : "blue";
      json += R"("kind":")" + row.kind + R"("})";
      batch.emplace(static_cast<DocId>(rows.size()), json);
      rows.push_back(std::move(row));
    }
    index.Put(batch);
  }
  const auto snapshot = index.snapshot();
  size_t compared = 0, without = 0, computed = 0;
  for (int round = 0; round < 600; ++round) {
    const Random wanted = generator.Any(1 + static_cast<int>(generator.Below(4)));
    const auto formula = filter::ParseFormula(wanted.text, {});
    if (!formula.ok()) {
      ASSERT_NE(formula.status().message().find("more than"), std::string::npos)
          << wanted.text << " " << formula.status().message();
      continue;
    }
    std::vector<DocSet> conditions;
    for (const auto& condition : (*formula)->conditions) {
      conditions.push_back(
          *index::EvaluateFilter({.snapshot = *snapshot, .features = {}}, *condition));
    }
    const FormulaInputs inputs{.conditions = conditions};
    std::vector<DocumentValue> values;
    for (const auto& segment : snapshot->segments)
      AppendFormulaValues(*snapshot, *segment, **formula, inputs, segment->live, values);
    ASSERT_EQ(values.size(), rows.size());
    for (const bool ascending : {true, false}) {
      const FirstOptions options{
          .wanted = 1 + generator.Below(60), .ascending = ascending, .pruned_min = 1};
      const auto first = FirstByFormula(*snapshot, **formula, inputs, snapshot->documents, options);
      ASSERT_EQ(Beginning(first, options), Beginning(values, options)) << wanted.text;
      computed += first.size();
    }
    for (const DocumentValue& one : values) {
      const double expected = wanted.value(rows[one.docid]);
      ASSERT_EQ(std::isnan(one.value), std::isnan(expected)) << wanted.text << " " << one.docid;
      if (!std::isnan(expected)) {
        ASSERT_EQ(one.value, expected) << wanted.text << " " << one.docid;
      }
      without += std::isnan(expected) ? 1 : 0;
      ++compared;
    }
  }
  EXPECT_GT(compared, 1'000'000u);
  EXPECT_GT(without, 1'000u);
  // In both directions together, a quarter of the documents is not computed.
  EXPECT_LT(computed * 4, compared * 2 * 3);
}

TEST(FormulaValues, FewAreComputed) {
  IndexedDocuments index(R"({"sortableAttributes":["a","b","c"]})");
  std::mt19937 random(3);
  constexpr size_t kDocuments = 20'000;
  std::map<DocId, std::string> batch;
  for (DocId docid = 0; docid < kDocuments; ++docid) {
    batch[docid] = "{\"a\":" + std::to_string(random() % 500) +
                   ",\"b\":" + std::to_string(random() % 40) +
                   ",\"c\":" + std::to_string(random()) + "}";
  }
  index.Put(batch);
  const auto snapshot = index.snapshot();
  const auto computed = [&](const char* text, const DocSet& documents) {
    const auto formula = filter::ParseFormula(text, {});
    return FirstByFormula(*snapshot, **formula, {}, documents, {.wanted = 20}).size();
  };
  for (int round = 0; round < 2; ++round) {
    EXPECT_LT(computed("log(1 + a) * b * (1000 + c)", snapshot->documents), kDocuments / 20);
    EXPECT_LT(computed("a / 500 + b / 40", snapshot->documents), kDocuments / 20);
    EXPECT_LT(computed("sqrt(c)", DocSet::Range(0, 10'000)), kDocuments / 20);
  }
}

}  // namespace
}  // namespace gannet::search
