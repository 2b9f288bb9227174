#include "index/evaluate_filter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <map>
#include <regex>

#include "base/json.h"
#include "bitmap/random_docids.h"
#include "comparisons.h"
#include "index/naive_index.h"
#include "index/random_documents.h"

namespace gannet::index {
namespace {

// ---- The filter as plain loops ----

// A filter as a structure; `Write` turns it into an expression.
struct Expression {
  enum class Kind : uint8_t { kAnd, kOr, kNot, kCondition, kRadius, kBox, kPolygon, kElements };
  Kind kind = Kind::kCondition;
  std::vector<Expression> children;
  std::string field, op;  // of a condition; op without its NOT
  bool negated = false;   // NOT IN, IS NOT NULL, ...
  std::vector<std::string> literals;
  std::vector<filter::GeoPoint> points;
  double metres = 0;
  int sides = 0;  // 0: not given
};

// Finite decimal numbers.
std::optional<double> NaiveNumber(const std::string& text) {
  static const std::regex kDecimal(R"([-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?)");
  if (!std::regex_match(text, kDecimal)) return std::nullopt;
  const double number = std::strtod(text.c_str(), nullptr);
  return std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// Zero and -0 are the same value.
int Compare(double value, double literal) { return value < literal ? -1 : value > literal ? 1 : 0; }

// Whether a document passes, by a literal reading of docs/behaviour/filters.md; nullopt if rounding
// may decide.
class NaiveFilter {
 public:
  // known: fields that some document has or had.
  NaiveFilter(const FieldMap& known, const Expression& expression)
      : known_(known), root_(Prepare(expression)) {}

  std::optional<bool> Passes(const NaiveDocument& document) const {
    return Passes(root_, document);
  }

 private:
  struct Prepared {
    const Expression* expression;
    std::vector<Prepared> children;
    std::vector<std::string> texts;
    std::vector<std::optional<double>> numbers;
    filter::NaiveShape area;
  };

  static Prepared Prepare(const Expression& expression) {
    Prepared out;
    out.expression = &expression;
    for (const Expression& child : expression.children) out.children.push_back(Prepare(child));
    for (const std::string& literal : expression.literals) {
      text::NormalizeFacet(literal, out.texts.emplace_back());
      out.numbers.push_back(NaiveNumber(literal));
    }
    switch (expression.kind) {
      case Expression::Kind::kRadius:
        // Another test shows that its corners are on the circle.
        out.area = filter::NaiveShapeOf(
            filter::CircleShape(expression.points[0], expression.metres,
                                expression.sides == 0 ? 125 : expression.sides));
        break;
      case Expression::Kind::kBox: {
        const filter::GeoPoint top = expression.points[0], bottom = expression.points[1];
        const auto rectangle = [&](double west, double east) {
          out.area.areas.push_back({{{west, bottom.lat},
                                     {east, bottom.lat},
                                     {east, top.lat},
                                     {west, top.lat},
                                     {west, bottom.lat}}});
        };
        if (bottom.lng <= top.lng) {
          rectangle(bottom.lng, top.lng);
        } else {
          rectangle(bottom.lng, 180);
          rectangle(-180, top.lng);
        }
        break;
      }
      case Expression::Kind::kPolygon: {
        filter::NaiveShape::Line ring;
        for (const filter::GeoPoint p : expression.points) ring.push_back({p.lng, p.lat});
        ring.push_back(ring[0]);
        out.area.areas.push_back({ring});
        break;
      }
      default: break;
    }
    return out;
  }

  std::optional<bool> Passes(const Prepared& node, const NaiveDocument& document) const {
    const Expression& expression = *node.expression;
    switch (expression.kind) {
      case Expression::Kind::kAnd:
      case Expression::Kind::kOr: {
        const bool decisive = expression.kind == Expression::Kind::kOr;
        bool open = false;
        for (const Prepared& child : node.children) {
          const auto passes = Passes(child, document);
          if (passes == decisive) return decisive;
          open |= !passes;
        }
        return open ? std::nullopt : std::optional(!decisive);
      }
      case Expression::Kind::kNot: {
        const auto passes = Passes(node.children[0], document);
        return passes ? std::optional(!*passes) : std::nullopt;
      }
      case Expression::Kind::kCondition:
        return Condition(node, document.Of(expression.field)) != expression.negated;
      case Expression::Kind::kRadius:
        if (Meets(node, document)) return true;
        if (!document.point || expression.metres < 0) return false;
        return filter::NaiveWithin(expression.points[0], *document.point, expression.metres);
      case Expression::Kind::kBox:
        return Meets(node, document) ||
               (document.point &&
                filter::NaiveBoxHolds(expression.points[0], expression.points[1], *document.point));
      case Expression::Kind::kPolygon: return Meets(node, document);
      case Expression::Kind::kElements: break;  // NaiveElements
    }
    return false;
  }

  static bool Meets(const Prepared& node, const NaiveDocument& document) {
    return !document.shape.empty() && filter::NaiveMeet(node.area, document.shape);
  }

  bool Condition(const Prepared& node, const NaiveValues& values) const {
    const std::string& op = node.expression->op;
    if (!known_.Find(node.expression->field)) return false;
    const auto any = [](const auto& list, auto&& test) {
      return std::any_of(list.begin(), list.end(), test);
    };
    // Compares one literal with the numbers and the strings: test(order of the value relative to
    // the literal).
    const auto compare = [&](size_t i, auto&& test) {
      return (node.numbers[i] &&
              any(values.numbers, [&](double v) { return test(Compare(v, *node.numbers[i])); })) ||
             any(values.strings,
                 [&](const std::string& v) { return test(v.compare(node.texts[i])); });
    };
    const auto equals = [&](size_t i) { return compare(i, [](int order) { return order == 0; }); };
    if (op == "=") return equals(0);
    if (op == "!=") return !equals(0);
    if (op == ">") return compare(0, [](int order) { return order > 0; });
    if (op == ">=") return compare(0, [](int order) { return order >= 0; });
    if (op == "<") return compare(0, [](int order) { return order < 0; });
    if (op == "<=") return compare(0, [](int order) { return order <= 0; });
    if (op == "TO") {
      const auto &from = node.numbers[0], &to = node.numbers[1];
      return (from && to &&
              any(values.numbers,
                  [&](double v) { return Compare(v, *from) >= 0 && Compare(v, *to) <= 0; })) ||
             any(values.strings,
                 [&](const std::string& v) { return v >= node.texts[0] && v <= node.texts[1]; });
    }
    if (op == "IN") {
      for (size_t i = 0; i < node.texts.size(); ++i) {
        if (equals(i)) return true;
      }
      return false;
    }
    if (op == "EXISTS") return values.exists;
    if (op == "NULL") return values.is_null;
    if (op == "EMPTY") return values.is_empty;
    if (op == "CONTAINS")
      return any(values.strings,
                 [&](const std::string& v) { return v.find(node.texts[0]) != v.npos; });
    if (node.texts[0].empty()) return values.exists;  // STARTS WITH
    return any(values.strings, [&](const std::string& v) { return v.starts_with(node.texts[0]); });
  }

  const FieldMap& known_;
  Prepared root_;
};

class RandomFilter {
 public:
  explicit RandomFilter(RandomDocuments& random) : random_(random) {}

  Expression Make(uint64_t depth) {
    Expression out;
    const uint64_t kind = depth == 0 ? 9 : random_.Below(8);
    if (kind >= 5) return Leaf();
    if (elements_ && random_.Below(5) == 0) return Elements("lines", depth - 1);
    out.kind = kind < 2   ? Expression::Kind::kAnd
               : kind < 4 ? Expression::Kind::kOr
                          : Expression::Kind::kNot;
    const uint64_t children = kind == 4 ? 1 : 2 + random_.Below(3) / 2;
    for (uint64_t i = 0; i < children; ++i) out.children.push_back(Make(depth - 1));
    return out;
  }

  // Conditions on one element; other conditions may be on those of `lines` in it.
  Expression Elements(const std::string& field, uint64_t depth) {
    const bool outer = std::exchange(elements_, true);
    Expression out;
    out.kind = Expression::Kind::kElements;
    out.field = field;
    out.children.push_back(Make(depth));
    elements_ = outer;
    return out;
  }

  std::string Write(const Expression& expression) { return Write(expression, 0); }

  // As JSON: one string, or arrays for the outer AND and OR.
  std::string WriteJson(const Expression& expression) {
    std::string out;
    const auto quoted = [&](const Expression& part) { AppendJsonString(out, Write(part)); };
    if (random_.Below(4) > 0 || expression.kind == Expression::Kind::kCondition) {
      quoted(expression);
      return out;
    }
    const bool conjunction = expression.kind == Expression::Kind::kAnd;
    out = "[";
    const Expression* const alone = &expression;
    const size_t parts = conjunction ? expression.children.size() : 1;
    for (size_t i = 0; i < parts; ++i) {
      const Expression& part = conjunction ? expression.children[i] : *alone;
      if (i > 0) out += ",";
      if (part.kind != Expression::Kind::kOr || random_.Below(3) == 0) {
        quoted(part);
        continue;
      }
      out += random_.Below(4) == 0 ? "[\" \"," : "[";
      for (size_t j = 0; j < part.children.size(); ++j) {
        if (j > 0) out += ",";
        quoted(part.children[j]);
      }
      out += "]";
    }
    return out + (random_.Below(4) == 0 ? ",[]]" : "]");
  }

 private:
  const char* Pick(std::initializer_list<const char*> list) {
    return list.begin()[random_.Below(list.size())];
  }

  // ---- Making expressions ----

  std::string Literal() {
    switch (random_.Below(8)) {
      case 0: return std::to_string(static_cast<int>(random_.Below(400)) - 120);
      case 1: return Pick({"tag ", "TAG ", "Tag\u00a0"}) + std::to_string(random_.Below(30));
      case 2:
        return "2024-0" + std::to_string(1 + random_.Below(2)) + "-" +
               std::to_string(10 + random_.Below(19));
      case 3:
        return random_.Below(2) == 0 ? RandomDocuments::Long(random_.Below(4))
                                     : std::string(465 + random_.Below(3), 'l') + "e";
      default: break;
    }
    return Pick({"0",
                 "1",
                 "2",
                 "10",
                 "-5",
                 "50",
                 "red",
                 "ROSÉ",
                 "é",
                 "rose",
                 "Rose\u0301",
                 "true",
                 "FALSE",
                 "zebra",
                 "",
                 "-0.5",
                 "a",
                 "t",
                 "120",
                 "3.25",
                 " ",
                 "z",
                 " red\t",
                 "-0",
                 "-0.0",
                 "0.0",
                 "+2",
                 "1e3",
                 "1000",
                 "100",
                 "1E2",
                 ".1",
                 "0.3",
                 "0.30000000000000004",
                 "1e308",
                 "1e309",
                 "-1e308",
                 "5e-324",
                 "1e-400",
                 "nan",
                 "inf",
                 "Infinity",
                 "9007199254740993",
                 "9007199254740992",
                 "9007199254740994",
                 "18446744073709551615",
                 "1e-7",
                 "0x10",
                 "123456789012345678901234567890",
                 "2024-01-31",
                 "2024-02-01T00:00:00Z",
                 "fin",
                 "STRASSE",
                 "straße",
                 "i",
                 "İ",
                 "a\"b\\c",
                 "'",
                 "AND",
                 "TO",
                 "null",
                 "\U0001f600",
                 "文",
                 "2.",
                 "1 2",
                 "x",
                 "한국"});
  }

  Expression Leaf() {
    if (random_.Below(9) == 0) return Geo();
    Expression out;
    out.field = kRandomFields[random_.Below(kRandomFields.size())];
    out.op = Pick({"=", "!=", ">", ">=", "<", "<=", "=", ">", "TO", "TO", "IN", "EXISTS", "NULL",
                   "EMPTY", "CONTAINS", "STARTS WITH"});
    const bool word = out.op == "IN" || out.op == "EXISTS" || out.op == "NULL" ||
                      out.op == "EMPTY" || out.op == "CONTAINS" || out.op == "STARTS WITH";
    out.negated = word && random_.Below(2) == 0;
    uint64_t literals = out.op == "TO" ? 2 : 1;
    if (out.op == "IN") literals = random_.Below(4);
    if (out.op == "EXISTS" || out.op == "NULL" || out.op == "EMPTY") literals = 0;
    for (uint64_t i = 0; i < literals; ++i) out.literals.push_back(Literal());
    return out;
  }

  Expression Geo() {
    static constexpr filter::GeoPoint kPoints[] = {{48.85, 2.35}, {-17, 180}, {-17, -180}, {90, 0},
                                                   {0, 0},        {-90, 10},  {5, 5}};
    static constexpr double kMetres[] = {0,        0.5,      1,   1000,  500000, 3000000,
                                         11000000, 19000000, 2e7, 2.1e7, -1};
    const auto whole = [&](int limit) {
      return static_cast<double>(
          static_cast<int>(random_.Below(2 * static_cast<uint64_t>(limit) + 1)) - limit);
    };
    const auto corner = [&] {
      if (random_.Below(3) == 0) return filter::GeoPoint{whole(90), whole(180)};
      return filter::GeoPoint{static_cast<double>(random_.Below(12)),
                              static_cast<double>(random_.Below(12))};
    };
    Expression out;
    switch (random_.Below(3)) {
      case 0:
        out.kind = Expression::Kind::kRadius;
        out.points = {random_.Below(2) == 0 ? kPoints[random_.Below(std::size(kPoints))]
                                            : filter::GeoPoint{random_.Fraction() * 180 - 90,
                                                               random_.Fraction() * 360 - 180}};
        out.metres = random_.Below(2) == 0 ? kMetres[random_.Below(std::size(kMetres))]
                                           : std::pow(10, random_.Fraction() * 7.4);
        if (random_.Below(2) == 0)
          out.sides = static_cast<int>(3 + random_.Below(random_.Below(10) == 0 ? 998 : 20));
        break;
      case 1: {
        out.kind = Expression::Kind::kBox;
        const filter::GeoPoint a = corner(), b = corner();
        out.points = {{std::max(a.lat, b.lat), a.lng}, {std::min(a.lat, b.lat), b.lng}};
        break;
      }
      default:
        out.kind = Expression::Kind::kPolygon;
        for (uint64_t i = 3 + random_.Below(3); i > 0; --i) out.points.push_back(corner());
    }
    return out;
  }

  // ---- Writing expressions ----

  std::string Space() { return Pick({" ", " ", " ", "\t", "  ", "\r\n"}); }
  std::string MaySpace() { return random_.Below(3) == 0 ? Space() : ""; }

  std::string Write(const Expression& expression, int outer) {
    // NOT binds closest, then AND, then OR.
    const int own = expression.kind == Expression::Kind::kOr    ? 1
                    : expression.kind == Expression::Kind::kAnd ? 2
                                                                : 3;
    std::string out;
    switch (expression.kind) {
      case Expression::Kind::kAnd:
      case Expression::Kind::kOr:
        for (const Expression& child : expression.children) {
          if (!out.empty()) out += Space() + (own == 1 ? "OR" : "AND") + Space();
          out += Write(child, own);
        }
        break;
      case Expression::Kind::kNot: out = "NOT" + Space() + Write(expression.children[0], 3); break;
      case Expression::Kind::kCondition: out = Condition(expression); break;
      case Expression::Kind::kRadius:
        out = "_geoRadius" + MaySpace() + "(" + Point(expression.points[0]) + "," + MaySpace() +
              Number(expression.metres) +
              (expression.sides == 0 ? "" : ", " + std::to_string(expression.sides)) + MaySpace() +
              ")";
        break;
      case Expression::Kind::kBox:
        out = "_geoBoundingBox([" + Point(expression.points[0]) + "]," + MaySpace() + "[" +
              Point(expression.points[1]) + "])";
        break;
      case Expression::Kind::kPolygon:
        for (const filter::GeoPoint point : expression.points) {
          out += (out.empty() ? "_geoPolygon([" : ", [") + Point(point) + "]";
        }
        out += random_.Below(4) == 0 ? ",)" : ")";
        break;
      case Expression::Kind::kElements:
        out = Value(expression.field) + MaySpace() + "[" + MaySpace() +
              Write(expression.children[0], 0) + MaySpace() + "]";
    }
    if (own < outer || random_.Below(6) == 0) return "(" + MaySpace() + out + MaySpace() + ")";
    return out;
  }

  std::string Number(double value) {
    std::string out;
    AppendJsonNumber(out, value);
    return out;
  }
  std::string Point(filter::GeoPoint point) {
    return MaySpace() + Number(point.lat) + MaySpace() + "," + MaySpace() + Number(point.lng);
  }

  std::string Value(const std::string& text) {
    static const char* const kReserved[] = {"AND", "OR",   "NOT",   "IN",       "TO",     "EXISTS",
                                            "IS",  "NULL", "EMPTY", "CONTAINS", "STARTS", "WITH"};
    static const std::regex kWord("[A-Za-z0-9_.-]+");
    const bool reserved = std::any_of(std::begin(kReserved), std::end(kReserved),
                                      [&](const char* word) { return text == word; });
    if (!reserved && std::regex_match(text, kWord) && random_.Below(3) > 0) return text;
    const char quote = random_.Below(2) == 0 ? '"' : '\'';
    std::string out(1, quote);
    for (const char c : text) {
      if (c == quote || c == '\\') out += '\\';
      if (c == '\t' && random_.Below(2) == 0) {
        out += "\\t";
      } else if (c > ' ' && c < '0' && c != quote && random_.Below(8) == 0) {
        out += std::string("\\x") + "0123456789abcdef"[c >> 4] + "0123456789abcdef"[c & 15];
      } else {
        out += c;
      }
    }
    return out + quote;
  }

  std::string Condition(const Expression& e) {
    const std::string field = Value(e.field), negation = e.negated ? "NOT" + Space() : "";
    if (e.op == "EXISTS") return field + Space() + negation + "EXISTS";
    if (e.op == "NULL" || e.op == "EMPTY")
      return field + Space() + "IS" + Space() + negation + e.op;
    if (e.op == "TO")
      return field + Space() + Value(e.literals[0]) + Space() + "TO" + Space() +
             Value(e.literals[1]);
    if (e.op == "CONTAINS" || e.op == "STARTS WITH")
      return field + Space() + negation + e.op + Space() + Value(e.literals[0]);
    if (e.op == "IN") {
      std::string list;
      for (const std::string& literal : e.literals)
        list += (list.empty() ? "" : "," + MaySpace()) + Value(literal);
      if (!list.empty() && random_.Below(4) == 0) list += ",";
      return field + Space() + negation + "IN" + MaySpace() + "[" + list + MaySpace() + "]";
    }
    return field + MaySpace() + e.op + MaySpace() + Value(e.literals[0]);
  }

  RandomDocuments& random_;
  bool elements_ = false;
};

std::vector<uint32_t> ListOf(const DocSet& documents) {
  std::vector<uint32_t> out;
  documents.ToVector(out);
  return out;
}

TEST(FilterOracle, FindsTheDocumentsThatPassOneByOne) {
  RandomDocuments random(TestSeed());
  for (Comparisons comparisons(6000); comparisons.Left();) {
    IndexedDocuments index(kRandomSettings);
    const uint64_t size = random.Below(20);
    random.Fill(index, size == 0 ? 3000 : size < 6 ? 300 : 40);
    const auto snapshot = index.snapshot();
    const NaiveIndex documents(index, kRandomFields);
    RandomFilter filters(random);
    for (int i = size == 0 ? 100 : 400; i > 0 && comparisons.Next(); --i) {
      const Expression expression = filters.Make(random.Below(4));
      const std::string text = filters.WriteJson(expression);
      const DocSet within = random.Some(snapshot->documents);
      auto node = filter::ParseFilterJson(text, {true, true});
      ASSERT_TRUE(node.ok()) << text << node.status().message();
      const FilterContext context{*snapshot, {true, true}};
      auto passing = EvaluateFilter(context, **node),
           restricted = EvaluateFilter(context, **node, &within);
      ASSERT_TRUE(passing.ok() && restricted.ok()) << text << passing.status().message();
      uint64_t known = 0;
      const NaiveFilter naive(*snapshot->fields, expression);
      for (const NaiveDocument& document : documents.documents()) {
        const bool found = passing->Contains(document.docid);
        ASSERT_EQ(found, naive.Passes(document).value_or(found))
            << text << " and document " << document.docid << " "
            << index.documents().at(document.docid);
        known += found;
      }
      ASSERT_EQ(known, passing->size()) << text << ": documents that are not there";
      ASSERT_EQ(*restricted, *passing & within) << text;
    }
  }
}

TEST(EvaluateFilter, JoinsWideRangesOfManyValues) {
  RandomDocuments random(TestSeed());
  IndexedDocuments index(R"({"filterableAttributes":["n","several"]})");
  std::map<DocId, std::string> batch;
  std::vector<int> numbers;
  for (DocId docid = 0; docid < 20000; ++docid) {
    numbers.push_back(static_cast<int>(random.Below(15000)));
    batch[docid] = "{\"n\":" + std::to_string(numbers.back()) + ",\"several\":[" +
                   std::to_string(numbers.back()) + "," + std::to_string(-numbers.back()) + "]}";
  }
  index.Put(batch);
  const auto snapshot = index.snapshot();
  for (int i = 0; i < 60; ++i) {
    const int from = static_cast<int>(random.Below(15000)),
              to = static_cast<int>(random.Below(15000));
    for (const std::string field : {"n", "several"}) {
      const std::string text = field + " " + std::to_string(from) + " TO " + std::to_string(to);
      std::string json;
      AppendJsonString(json, text);
      auto passing = EvaluateFilterJson(*snapshot, json, {});
      ASSERT_TRUE(passing.ok());
      std::vector<uint32_t> expected;
      for (DocId docid = 0; docid < numbers.size(); ++docid) {
        if (numbers[docid] >= from && numbers[docid] <= to) expected.push_back(docid);
      }
      ASSERT_EQ(ListOf(*passing), expected) << text;
    }
  }
}

class FilterRules : public testing::Test {
 protected:
  FilterRules()
      : index_(
            R"({"filterableAttributes":[)"
            R"({"attributePatterns":["eq"],"features":{"filter":{"equality":true,"comparison":false}}},)"
            R"({"attributePatterns":["cmp*"],"features":{"filter":{"equality":false,"comparison":true}}},)"
            R"({"attributePatterns":["off","off.*"],"features":{"facetSearch":true,"filter":{"equality":false,"comparison":false}}},)"
            R"({"attributePatterns":["_geo"],"features":{"filter":{"equality":true,"comparison":true}}},)"
            R"("off","plain","never"]})") {
    index_.Put(
        {{1, R"({"eq":3,"cmp":3,"off":3,"plain":{"x":3},"cmpound":"z","_geo":{"lat":1,"lng":1}})"},
         {2, R"({"eq":4,"cmp":4,"off":4,"plain":{"x":-0.0}})"},
         {3, R"({"id":3})"}});
  }

  // Docids that pass, or the error code.
  std::string Passing(const std::string& filter) {
    std::string json;
    AppendJsonString(json, filter);
    auto passing = EvaluateFilterJson(*index_.snapshot(), json, {});
    if (!passing.ok()) {
      message_ = passing.status().message();
      return passing.status().detail();
    }
    std::string out;
    passing->ForEach([&](DocId docid) { out += std::to_string(docid); });
    return out;
  }

  IndexedDocuments index_;
  std::string message_;
};

TEST_F(FilterRules, DecideWhichOperatorsAFieldTakes) {
  const std::string kInvalid = "invalid_search_filter";
  EXPECT_EQ(Passing("eq = 3"), "1");
  EXPECT_EQ(Passing("eq != 3"), "23");
  EXPECT_EQ(Passing("eq > 3"), kInvalid);
  EXPECT_EQ(Passing("eq 3 TO 4"), kInvalid);
  EXPECT_EQ(Passing("eq STARTS WITH 3"), "");
  EXPECT_EQ(Passing("cmp > 3"), "2");
  EXPECT_EQ(Passing("cmp = 3"), kInvalid);
  EXPECT_EQ(Passing("cmp IN [3]"), kInvalid);
  EXPECT_EQ(Passing("cmp IS NOT NULL"), "123");
  EXPECT_EQ(Passing("cmpound > a"), "1");
  EXPECT_EQ(Passing("off = 3"), kInvalid);
  EXPECT_EQ(Passing("off EXISTS"), kInvalid);
  EXPECT_EQ(Passing("plain.x > 2"), "1");
  EXPECT_EQ(Passing("unknown = 3"), kInvalid);
  EXPECT_EQ(Passing("_geoRadius(1, 1, 10)"), kInvalid) << "a pattern does not reach reserved names";
  EXPECT_EQ(Passing("_geoPolygon([1, 1], [2, 2], [1, 2])"), kInvalid);
  EXPECT_EQ(Passing("title CONTAINS a"), "feature_not_enabled");
}

TEST_F(FilterRules, AreNotCheckedAfterAnEmptyConjunction) {
  EXPECT_EQ(Passing("eq = 99 AND eq > 3"), "");
  EXPECT_EQ(Passing("eq > 3 OR eq = 3"), "invalid_search_filter");
  EXPECT_EQ(Passing("eq = 99 AND unknown > 3"), "invalid_search_filter")
      << "attributes are checked first";
}

TEST_F(FilterRules, GiveNothingOnAFieldNeverSeenButAllForItsNegation) {
  EXPECT_EQ(Passing("never = 1"), "");
  EXPECT_EQ(Passing("never != 1"), "");
  EXPECT_EQ(Passing("never NOT IN [1]"), "123");
  EXPECT_EQ(Passing("NOT never > 1"), "123");
  EXPECT_EQ(Passing("never NOT EXISTS"), "123");
  EXPECT_EQ(Passing("never IS NOT NULL"), "123");
}

TEST_F(FilterRules, LetPassOnlyWhatIsKnownToPassOnceTheTimeIsOver) {
  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  for (const std::string filter : {"eq = 3", "eq != 3", "NOT eq = 3",
                                   "eq = 3 OR NOT (eq = 4 AND cmp > 9)", "never NOT EXISTS"}) {
    std::string json;
    AppendJsonString(json, filter);
    for (const bool over : {false, true}) {
      *cancelled = over;
      Deadline deadline = Deadline::In(UINT64_MAX, cancelled);
      const auto passing = EvaluateFilterJson(*index_.snapshot(), json, {}, &deadline);
      ASSERT_TRUE(passing.ok());
      EXPECT_EQ(passing->empty(), over) << filter;
    }
  }
}

TEST_F(FilterRules, TakeMinusZeroForZero) {
  EXPECT_EQ(Passing("plain.x = 0"), "2");
  EXPECT_EQ(Passing("plain.x = -0"), "2");
  EXPECT_EQ(Passing("plain.x <= -0"), "2");
  EXPECT_EQ(Passing("plain.x > -0"), "1");
}

TEST_F(FilterRules, NameTheFaultyPartOfTheExpression) {
  EXPECT_EQ(Passing("eq = 1 OR (price > 3)"), "invalid_search_filter");
  EXPECT_NE(message_.find("`price` is not filterable"), std::string::npos) << message_;
  EXPECT_NE(message_.find("12:17 eq = 1 OR (price > 3)"), std::string::npos) << message_;
}

TEST(EvaluateFilter, FindsShapesThatMeetTheArea) {
  IndexedDocuments index(R"({"filterableAttributes":["_geojson","_geo"]})");
  index.Put(
      {{0, R"({"_geojson":{"type":"Point","coordinates":[2.3376,48.8606]}})"},
       {1,
        R"({"_geojson":{"type":"Polygon","coordinates":[[[2,48],[3,48],[3,49],[2,49],[2,48]]]}})"},
       {2, R"({"_geojson":{"type":"LineString","coordinates":[[4.8,45.7],[5.4,43.3]]}})"},
       {3, R"({"_geo":{"lat":48.8,"lng":2.3}})"},
       {4, R"({"name":"nowhere"})"}});
  const auto passing_of = [&](const std::string& text) {
    auto passing = EvaluateFilterJson(*index.snapshot(), "\"" + text + "\"", {});
    EXPECT_TRUE(passing.ok());
    return passing.ok() ? ListOf(*passing) : std::vector<uint32_t>();
  };
  using List = std::vector<uint32_t>;
  EXPECT_EQ(passing_of("_geoPolygon([48.5, 2.1], [48.5, 2.9], [49.5, 2.9], [49.5, 2.1])"),
            (List{0, 1}));
  EXPECT_EQ(passing_of("_geoBoundingBox([46, 6], [44, 4])"), (List{2}));
  EXPECT_EQ(passing_of("_geoBoundingBox([49, 3], [48, 2])"), (List{0, 1, 3}));
  EXPECT_EQ(passing_of("_geoRadius(48.8606, 2.3376, 1000)"), (List{0, 1}));
  EXPECT_EQ(passing_of("NOT _geoPolygon([48.5, 2.1], [48.5, 2.9], [49.5, 2.9], [49.5, 2.1])"),
            (List{2, 3, 4}));
  index.Delete({1});
  EXPECT_EQ(passing_of("_geoRadius(48.8606, 2.3376, 1000)"), (List{0}));
}

// ---- Elements ----

// Conditions on elements, tested on trees.
class NaiveElements {
 public:
  explicit NaiveElements(const FieldMap& known) : known_(known) {}

  // nullopt: rounding may decide.
  std::optional<bool> Passes(const Expression& expression, const json::Value& object,
                             const std::string& parent = "") {
    switch (expression.kind) {
      case Expression::Kind::kAnd:
      case Expression::Kind::kOr:
        return Any(expression.children, expression.kind == Expression::Kind::kOr,
                   [&](const Expression& child) { return Passes(child, object, parent); });
      case Expression::Kind::kNot: {
        const auto passes = Passes(expression.children[0], object, parent);
        return passes ? std::optional(!*passes) : std::nullopt;
      }
      case Expression::Kind::kElements: {
        std::vector<const json::Value*> elements;
        Reach(object, expression.field, elements);
        return Any(elements, true, [&](const json::Value* element) {
          return Passes(expression.children[0], *element, parent + expression.field + ".");
        });
      }
      default: return Leaf(expression, object, parent);
    }
  }

 private:
  // decisive: the result of one that decides.
  template <typename List, typename Test>
  static std::optional<bool> Any(const List& list, bool decisive, Test&& test) {
    bool open = false;
    for (const auto& item : list) {
      const auto passes = test(item);
      if (passes == decisive) return decisive;
      open |= !passes;
    }
    return open ? std::nullopt : std::optional(!decisive);
  }

  std::optional<bool> Leaf(const Expression& expression, const json::Value& object,
                           const std::string& parent) {
    NaiveDocument document{};
    document.fields.emplace(expression.field, NaiveValuesOf(object, expression.field));
    document.point = NaivePointOf(object);
    if (object["_geojson"].is_object()) document.shape = filter::NaiveShapeOf(object["_geojson"]);
    FieldMap known;
    if (known_.Find(parent + expression.field)) EXPECT_TRUE(known.Add(expression.field).ok());
    return NaiveFilter(known, expression).Passes(document);
  }

  // The objects under a path.
  static void Reach(const json::Value& node, const std::string& rest,
                    std::vector<const json::Value*>& out) {
    for (const json::Value& item : node.items()) Reach(item, rest, out);
    for (const auto& [key, value] : node.members()) {
      if (key == rest)
        Objects(value, out);
      else if (rest.starts_with(key + "."))
        Reach(value, rest.substr(key.size() + 1), out);
    }
  }
  static void Objects(const json::Value& value, std::vector<const json::Value*>& out) {
    if (value.is_object()) out.push_back(&value);
    for (const json::Value& item : value.items()) Objects(item, out);
  }

  const FieldMap& known_;
};

// A document with `items`, or `deep.items`, of whatever kind.
std::string DocumentWithItems(RandomDocuments& random) {
  const auto element = [&](bool with_lines) {
    std::string out = random.Document();
    if (!with_lines || random.Below(2) == 0) return out;
    out.pop_back();
    out += ",\"lines\":[" + random.Document() + "," + random.Document() + "]}";
    return out;
  };
  const auto items = [&]() -> std::string {
    switch (random.Below(8)) {
      case 0: return random.Value();
      case 1: return element(true);
      case 2: return "[[" + element(true) + "]," + random.Value() + "]";
      case 3: return "[]";
      case 4: return "[" + element(true) + "]";
      default: return "[" + element(true) + "," + element(true) + "," + element(false) + "]";
    }
  };
  std::string out = "{\"id\":1";
  if (random.Below(8) > 0) out += ",\"items\":" + items();
  if (random.Below(20) == 0) out += ",\"items.number\":" + std::to_string(random.Below(50));
  if (random.Below(4) == 0) {
    const std::string inner = "{\"items\":" + items() + "}";
    out += ",\"deep\":" + (random.Below(2) == 0 ? inner : "[" + inner + "," + inner + "]");
  }
  return out + "}";
}

TEST(ElementFilterOracle, FindsTheDocumentsWithAnElementThatPasses) {
  RandomDocuments random(TestSeed());
  for (Comparisons comparisons(3000); comparisons.Left();) {
    IndexedDocuments index(
        R"({"filterableAttributes":["number",{"attributePatterns":["items","deep.items"],)"
        R"("features":{"filter":{"elements":true}}}]})");
    for (uint64_t segments = 1 + random.Below(3); segments > 0; --segments) {
      std::map<DocId, std::string> batch;
      for (int i = 0; i < 15; ++i)
        batch[static_cast<DocId>(random.Below(60))] = DocumentWithItems(random);
      index.Put(batch);
    }
    const auto snapshot = index.snapshot();
    std::map<DocId, json::Value> trees;
    for (const auto& [docid, text] : index.documents()) trees[docid] = json::Value::Parse(text);
    RandomFilter filters(random);
    NaiveElements naive(*snapshot->fields);
    for (int i = 0; i < 100 && comparisons.Next(); ++i) {
      Expression expression =
          filters.Elements(random.Below(3) > 0 ? "items" : "deep.items", random.Below(4));
      if (random.Below(4) == 0) {
        Expression outer;
        outer.kind = Expression::Kind::kNot;
        outer.children.push_back(std::move(expression));
        expression = std::move(outer);
      }
      const std::string text = filters.WriteJson(expression);
      auto node = filter::ParseFilterJson(text, {true, true});
      ASSERT_TRUE(node.ok()) << text << node.status().message();
      const auto passing = EvaluateFilter({*snapshot, {true, true}}, **node);
      ASSERT_TRUE(passing.ok()) << text << passing.status().message();
      for (const auto& [docid, tree] : trees) {
        const bool found = passing->Contains(docid);
        ASSERT_EQ(found, naive.Passes(expression, tree).value_or(found))
            << text << " and document " << index.documents().at(docid);
      }
    }
  }
}

TEST_F(FilterRules, ElementsNeedTheFeature) {
  IndexedDocuments index(R"({"filterableAttributes":["plain",{"attributePatterns":["items"],)"
                         R"("features":{"filter":{"equality":true,"elements":true}}}]})");
  index.Put({{1, R"({"items":[{"n":1,"c":"red"},{"n":2,"c":"blue"}],"plain":[{"n":1}]})"}});
  const auto result = [&](const std::string& filter) {
    std::string json;
    AppendJsonString(json, filter);
    const auto passing = EvaluateFilterJson(*index.snapshot(), json, {});
    return passing.ok() ? std::to_string(passing->size()) : passing.status().message();
  };
  EXPECT_EQ(result("items[n = 1 AND c = red]"), "1");
  EXPECT_EQ(result("items[n = 2 AND c = red]"), "0");
  EXPECT_EQ(result("items [ NOT n = 1 AND c != red ] OR plain.n = 9"), "1");
  EXPECT_EQ(result("items.lines[x = 1]"), "0");
  EXPECT_EQ(result("items[_vectors EXISTS]"), "0");
  EXPECT_TRUE(result("items.n = 1").starts_with("The attribute `items.n` is not filterable"));
  EXPECT_TRUE(result("plain[n = 1]").starts_with("`plain[...]` needs the feature `elements`"));
  EXPECT_TRUE(result("items[n < now+1d]").starts_with("`now+1d` is a date, but the rule of `n`"));
  EXPECT_TRUE(result("items[n = 1").starts_with("The bracket `[` is not closed"));
  EXPECT_TRUE(result("items[]").starts_with("A value is missing: found `]`"));
}

// ---- Dates ----

// Seconds since 1970 of an RFC 3339 text, by the C library.
std::optional<double> NaiveDate(const std::string& text) {
  static const std::regex kDate(
      R"((\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d:\d\d)(\.\d+)?(?:[Zz]|([-+])(\d\d):(\d\d)))?)");
  std::smatch parts;
  if (!std::regex_match(text, parts, kDate)) return std::nullopt;
  std::tm tm{};
  if (strptime(parts[1].str().c_str(), "%Y-%m-%d", &tm) == nullptr) return std::nullopt;
  const int day = tm.tm_mday;
  auto seconds = static_cast<double>(timegm(&tm));
  if (tm.tm_mday != day) return std::nullopt;  // such as 30 February
  if (parts[2].matched) {
    std::tm time{};
    if (strptime(parts[2].str().c_str(), "%H:%M:%S", &time) == nullptr) return std::nullopt;
    seconds += time.tm_hour * 3600 + time.tm_min * 60 + time.tm_sec;
  }
  if (parts[3].matched) seconds += std::stod("0" + parts[3].str());
  if (parts[4].matched) {
    const int offset = std::stoi(parts[5]) * 3600 + std::stoi(parts[6]) * 60;
    seconds += parts[4] == "+" ? -offset : offset;
  }
  return seconds;
}

class DateFilterOracle : public testing::Test {
 protected:
  static constexpr double kNow = 1'700'000'000;

  const char* Pick(std::initializer_list<const char*> list) {
    return list.begin()[random_.Below(list.size())];
  }

  // Often the same moments in different forms.
  std::string Date() {
    const std::string day =
        Pick({"2023-11-14", "2023-11-15", "2023-02-28", "2024-02-29", "1969-12-31", "0001-01-01"});
    if (random_.Below(3) == 0) return day;
    const std::string time = Pick({"00:00:00", "22:13:20", "23:30:00", "01:00:00"});
    return day + Pick({"T", "t", " "}) + time + Pick({"", ".5", ".25", ".000001"}) +
           Pick({"Z", "z", "+01:00", "-01:30", "+23:59"});
  }

  // As in JSON; `text` without quotation marks.
  std::string Scalar(std::string& text) {
    switch (random_.Below(8)) {
      case 0:
        return text = Pick({"1700000000", "1699999999.5", "0", "-1", "1699920000", "1700002800"});
      case 1:
        text = Pick({"2023-02-29", "2023-11-14T10:00:00", "2023-11-14T24:00:00Z", "tomorrow",
                     "2024", "2023-13-01", "2023-11-14x", "now", "1700000000"});
        break;
      default: text = Date();
    }
    return "\"" + text + "\"";
  }

  struct Value {
    std::string text;
    std::optional<double> moment;
    bool is_number;
  };
  struct Document {
    std::vector<Value> values;
    bool exists;
  };

  // The moment of an operand.
  static std::optional<double> MomentOf(const std::string& text) {
    static const std::map<std::string, double> kRelative = {
        {"now", kNow}, {"now-1d", kNow - 86400}, {"now+2h", kNow + 7200}, {"now-80s", kNow - 80}};
    if (const auto found = kRelative.find(text); found != kRelative.end()) return found->second;
    if (const auto date = NaiveDate(text)) return date;
    return NaiveNumber(text);
  }

  std::map<DocId, Document> Fill(IndexedDocuments& index) {
    std::map<DocId, Document> documents;
    for (uint64_t segment = 1 + random_.Below(3); segment > 0; --segment) {
      std::map<DocId, std::string> batch;
      const bool one_form = random_.Below(2) == 0;
      for (uint64_t i = 1 + random_.Below(60); i > 0; --i) {
        const auto docid = static_cast<DocId>(random_.Below(200));
        // A field that no document has had passes no condition, not even `!=`.
        Document document{{}, documents.empty() || random_.Below(8) > 0};
        std::string list;
        for (uint64_t k = document.exists ? random_.Below(3) : 0; k > 0; --k) {
          std::string text;
          std::string scalar = Scalar(text);
          if (one_form) {
            text = "2023-11-" + std::to_string(10 + random_.Below(19)) + "T10:00:00Z";
            scalar = "\"" + text + "\"";
          }
          const bool is_number = scalar[0] != '"';
          document.values.push_back(
              {text, is_number ? NaiveNumber(text) : NaiveDate(text), is_number});
          list += (list.empty() ? "" : ",") + scalar;
        }
        batch[docid] = document.exists ? "{\"at\":[" + list + "]}" : "{\"id\":1}";
        documents[docid] = document;
      }
      index.Put(batch);
    }
    return documents;
  }

  static bool Passes(const Document& document, const std::string& op,
                     const std::vector<std::string>& operands) {
    const auto any = [&](auto&& test) {
      return std::any_of(document.values.begin(), document.values.end(), test);
    };
    if (op == "=" || op == "!=" || op == "IN") {
      const bool equal = any([&](const Value& value) {
        return std::any_of(operands.begin(), operands.end(), [&](const std::string& operand) {
          std::string stored, wanted;
          text::NormalizeFacet(value.text, stored);
          text::NormalizeFacet(operand, wanted);
          const auto moment = MomentOf(operand);
          return (value.is_number ? value.moment == NaiveNumber(operand) : stored == wanted) ||
                 (moment && value.moment == moment);
        });
      });
      return equal != (op == "!=");
    }
    const auto first = MomentOf(operands[0]), last = MomentOf(operands.back());
    return any([&](const Value& value) {
      if (!value.moment) return false;
      const double at = *value.moment;
      if (op == ">") return at > *first;
      if (op == ">=") return at >= *first;
      if (op == "<") return at < *first;
      if (op == "<=") return at <= *first;
      return at >= *first && at <= *last;
    });
  }

  RandomDocuments random_{TestSeed()};
};

TEST_F(DateFilterOracle, ComparesMoments) {
  for (Comparisons comparisons(4000); comparisons.Left();) {
    IndexedDocuments index(R"({"filterableAttributes":[{"attributePatterns":["at"],)"
                           R"("features":{"filter":{"equality":true,"date":true}}}]})");
    const auto documents = Fill(index);
    const auto snapshot = index.snapshot();
    for (int i = 0; i < 200 && comparisons.Next(); ++i) {
      const std::string op = Pick({"=", "!=", "IN", ">", ">=", "<", "<=", "TO"});
      std::vector<std::string> operands;
      std::vector<std::string> written;
      const uint64_t wanted = op == "TO" ? 2 : op == "IN" ? random_.Below(4) : 1;
      while (operands.size() < wanted) {
        std::string text;
        Scalar(text);
        if (random_.Below(3) == 0) text = Pick({"now", "now-1d", "now+2h", "now-80s"});
        if (op != "=" && op != "!=" && op != "IN" && !MomentOf(text)) continue;
        operands.push_back(text);
        const bool bare = text.starts_with("now") && random_.Below(2) == 0;
        written.push_back(bare ? text : "\"" + text + "\"");
      }
      std::string filter = "at " + op;
      if (op == "TO") filter = "at " + written[0] + " TO " + written[1];
      if (op == "IN") {
        filter += " [";
        for (const std::string& operand : written) filter += operand + ",";
        filter += "]";
      } else if (op != "TO") {
        filter += " " + written[0];
      }
      auto node = filter::ParseFilter(filter, {});
      ASSERT_TRUE(node.ok()) << filter << node.status().message();
      const auto passing = EvaluateFilter({*snapshot, {}, nullptr, kNow}, **node);
      ASSERT_TRUE(passing.ok()) << filter << passing.status().message();
      for (const auto& [docid, document] : documents) {
        ASSERT_EQ(passing->Contains(docid), Passes(document, op, operands))
            << filter << " and document " << index.documents().at(docid);
      }
    }
  }
}

TEST_F(FilterRules, RefuseOperandsThatAreNotDates) {
  IndexedDocuments index(R"({"filterableAttributes":["plain",{"attributePatterns":["at"],)"
                         R"("features":{"filter":{"equality":false,"date":true}}}]})");
  index.Put({{1, R"({"at":"2026-01-31","plain":"now+7d"})"}});
  const auto fault = [&](const std::string& filter) {
    std::string json;
    AppendJsonString(json, filter);
    const auto passing = EvaluateFilterJson(*index.snapshot(), json, {});
    return passing.ok() ? std::to_string(passing->size()) : passing.status().message();
  };
  EXPECT_EQ(fault("at > 2026-01-30"), "1");
  EXPECT_EQ(fault("at < \"now+7d\""), "1");
  EXPECT_EQ(fault("at < now+7d"), "1");
  EXPECT_EQ(fault("plain = \"now+7d\""), "1");
  EXPECT_TRUE(fault("at > soon").starts_with("`soon` is not a date: `at` is compared with"));
  EXPECT_TRUE(fault("at > 2026-02-30").starts_with("`2026-02-30` is not a date"));
  EXPECT_TRUE(fault("at < now+7x").starts_with("`now+7x` is not a date"));
  EXPECT_TRUE(fault("at CONTAINS now+7d").starts_with("Using `CONTAINS`"));
  EXPECT_TRUE(fault("at STARTS WITH now+7d").starts_with("`now+7d` is a date, but `STARTS WITH`"));
  EXPECT_TRUE(fault("plain = now+7d").starts_with("`now+7d` is a date, but the rule of `plain`"));
  EXPECT_TRUE(fault("at = 1").starts_with("The operator `=` is not enabled"));
}

TEST_F(FilterRules, RefuseTimesWithOtherUnits) {
  IndexedDocuments index(
      R"({"filterableAttributes":[{"attributePatterns":["at","never","items.at"],)"
      R"("features":{"filter":{"equality":true,"date":true}}},)"
      R"({"attributePatterns":["items"],"features":{"filter":{"elements":true}}}]})");
  index.Put({{1, R"({"at":"now-playing","items":[{"at":5}]})"}});
  const auto fault = [&](const std::string& filter) {
    std::string json;
    AppendJsonString(json, filter);
    const auto passing = EvaluateFilterJson(*index.snapshot(), json, {});
    return passing.ok() ? std::to_string(passing->size()) : passing.status().message();
  };
  for (const std::string time :
       {"NOW", "Now", "nOw-1d", "now-1M", "now-1D", "now-1H", "now-1S", "now-1W", "now-1y",
        "now-1mo", "now-1", "now-1.5h", "now-1234567890s", "now -1d", "now- 1d", " now", "now-",
        "now+1M", "ｎｏｗ"}) {
    for (const std::string where :
         {"at > X", "at <= X", "at = X", "at != X", "at IN [1, X]", "at X TO now", "at 5 TO X",
          "never > X", "never = X", "items[at > X]", "items[at = X]", "items.at X TO now",
          "at = 7 AND at > X", "NOT at = X", "at = 5 OR never < X"}) {
      std::string filter = where;
      filter.replace(filter.find('X'), 1, "\"" + time + "\"");
      const std::string found = fault(filter);
      EXPECT_TRUE(found.starts_with("`" + time + "` is not a date") &&
                  found.find("`s`, `m`, `h`, `d` and `w`, in lower case") != std::string::npos)
          << filter << ": " << found;
    }
  }
  EXPECT_EQ(fault("at = \"now-playing\""), "1");
  EXPECT_EQ(fault("at = nowhere"), "0");
  EXPECT_EQ(fault("items[at < now-999999999s]"), "1");
}

}  // namespace
}  // namespace gannet::index
