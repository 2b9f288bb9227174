#include "filter/parser.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "base/json.h"
#include "filter/lexer.h"

namespace gannet::filter {
namespace {

constexpr FilterFeatures kAllFeatures = {.contains = true, .multimodal = true};

// The tree as text: (and a b), (not a), [field op values], ...
std::string Show(const Node& node) {
  std::string out;
  const auto children = [&](const char* name) {
    out = std::string("(") + name;
    for (const auto& child : node.children) out += " " + Show(*child);
    return out + ")";
  };
  const auto number = [&](double value) {
    out += ' ';
    AppendJsonNumber(out, value);
  };
  switch (node.kind) {
    case Node::Kind::kTrue: return "true";
    case Node::Kind::kAnd: return children("and");
    case Node::Kind::kOr: return children("or");
    case Node::Kind::kNot: return children("not");
    case Node::Kind::kCondition:
      out = "[" + node.field + " " + std::string(OperatorName(node.op));
      for (const Value& value : node.values) out += " <" + value.text + ">";
      return out + "]";
    case Node::Kind::kGeoRadius: out = "{radius"; break;
    case Node::Kind::kGeoBoundingBox: out = "{box"; break;
    case Node::Kind::kGeoPolygon: out = "{polygon"; break;
    case Node::Kind::kVectorExists: {
      static constexpr const char* kKinds[] = {"any", "userProvided", "regenerate",
                                               "documentTemplate", "fragment"};
      out = "{vectors <" + node.embedder + "> " + kKinds[static_cast<int>(node.vector_kind)];
      return out + (node.fragment.empty() ? "}" : " <" + node.fragment + ">}");
    }
  }
  for (const GeoPoint& point : node.points) {
    number(point.lat);
    number(point.lng);
  }
  if (node.kind == Node::Kind::kGeoRadius) {
    number(node.metres);
    number(node.resolution);
  }
  return out + "}";
}

std::string Tree(std::string_view expression) {
  const auto node = ParseFilter(expression, kAllFeatures);
  if (node.ok()) return Show(**node);
  EXPECT_EQ(node.status().detail(), "invalid_search_filter") << expression;
  EXPECT_NE(node.status().message().find(expression), std::string::npos) << node.status().message();
  return "error";
}

std::string JsonTree(std::string_view json) {
  const auto node = ParseFilterJson(json, kAllFeatures);
  if (node.ok()) return Show(**node);
  EXPECT_EQ(node.status().detail(), "invalid_search_filter") << json;
  return "error";
}

struct Case {
  std::string filter;
  std::string tree;
};

TEST(Filter, BindsNotBeforeAndBeforeOr) {
  const Case cases[] = {
      {"", "true"},
      {" \t\r\n", "true"},
      {"a = 1", "[a = <1>]"},
      {"a = 1 OR b = 2 AND c = 3", "(or [a = <1>] (and [b = <2>] [c = <3>]))"},
      {"(a = 1 OR b = 2) AND c = 3", "(and (or [a = <1>] [b = <2>]) [c = <3>])"},
      {"a = 1 AND b = 2 AND c = 3", "(and [a = <1>] [b = <2>] [c = <3>])"},
      {"NOT a = 1 AND b = 2", "(and (not [a = <1>]) [b = <2>])"},
      {"NOT (a = 1 AND b = 2)", "(not (and [a = <1>] [b = <2>]))"},
      {"NOT NOT a = 1", "[a = <1>]"},
      {"NOT NOT NOT a = 1", "(not [a = <1>])"},
      {"NOT(a=1)", "(not [a = <1>])"},
      {"(a=1)OR(b>2)", "(or [a = <1>] [b > <2>])"},
      {"((((a = 1))))", "[a = <1>]"},
      {"a = 1\n\tAND\r\nb = 2", "(and [a = <1>] [b = <2>])"},
      {"NOT a NOT EXISTS", "[a EXISTS]"},
      {"NOT (NOT (a = 1 OR b = 2))", "(or [a = <1>] [b = <2>])"},
  };
  for (const Case& c : cases) EXPECT_EQ(Tree(c.filter), c.tree) << c.filter;
}

TEST(Filter, ReadsEveryOperator) {
  const Case cases[] = {
      {"a!=1", "[a != <1>]"},
      {"a>1", "[a > <1>]"},
      {"a >= 1", "[a >= <1>]"},
      {"a<1", "[a < <1>]"},
      {"a<=1", "[a <= <1>]"},
      {"a 1 TO 2", "[a TO <1> <2>]"},
      {"'a b' \"x y\"\nTO\t-2.5", "[a b TO <x y> <-2.5>]"},
      {"a'1'TO 2", "[a TO <1> <2>]"},
      {"\"a\"1 TO '2'", "[a TO <1> <2>]"},
      {"a IN [x, 'y z',3]", "[a IN <x> <y z> <3>]"},
      {"a IN[x,]", "[a IN <x>]"},
      {"a IN []", "[a IN]"},
      {"a IN [ ]", "[a IN]"},
      {"a  NOT   IN  [x]", "(not [a IN <x>])"},
      {"a EXISTS", "[a EXISTS]"},
      {"a NOT\n EXISTS", "(not [a EXISTS])"},
      {"a IS NULL", "[a IS NULL]"},
      {"a IS  NOT  NULL", "(not [a IS NULL])"},
      {"a IS EMPTY", "[a IS EMPTY]"},
      {"a IS NOT EMPTY", "(not [a IS EMPTY])"},
      {"a CONTAINS x", "[a CONTAINS <x>]"},
      {"a CONTAINS'x'", "[a CONTAINS <x>]"},
      {"a NOT CONTAINS \"\"", "(not [a CONTAINS <>])"},
      {"a STARTS WITH x", "[a STARTS WITH <x>]"},
      {"a NOT STARTS WITH x", "(not [a STARTS WITH <x>])"},
  };
  for (const Case& c : cases) EXPECT_EQ(Tree(c.filter), c.tree) << c.filter;
}

TEST(Filter, ReadsBareAndQuotedValues) {
  const Case cases[] = {
      {"stra\u00dfe-7_b.c = \u00e9t\u00e9", "[stra\u00dfe-7_b.c = <\u00e9t\u00e9>]"},
      {"a = \u6771\u4eac\u0661\u00bd", "[a = <\u6771\u4eac\u0661\u00bd>]"},
      {"a = -12.5", "[a = <-12.5>]"},
      {"a = .1", "[a = <.1>]"},
      {"\"AND\" = 'OR'", "[AND = <OR>]"},
      {"in = and", "[in = <and>]"},
      {"_geoish = 1", "[_geoish = <1>]"},
      {"_geo.lat > 48", "[_geo.lat > <48>]"},
      {"_geojson EXISTS", "[_geojson EXISTS]"},
      {"\"_vectors\" = 1", "[_vectors = <1>]"},
      {"a = \"it's\"", "[a = <it's>]"},
      {R"(a = 'it\'s')", "[a = <it's>]"},
      {R"(a = "\\ \" \t\n\b\f\r")", "[a = <\\ \" \t\n\b\f\r>]"},
      {R"(a = "\u00e9\u{1F600}\xe9\101\0")",
       std::string("[a = <\u00e9\U0001f600\u00e9A") + '\0' + ">]"},
      {"a = \"line\nbreak\"", "[a = <line\nbreak>]"},
      {"a = \"\"", "[a = <>]"},
      {"a = \"(x) [y] = z\"", "[a = <(x) [y] = z>]"},
  };
  for (const Case& c : cases) EXPECT_EQ(Tree(c.filter), c.tree) << c.filter;
  for (const char* word :
       {"AND", "OR", "NOT", "IN", "TO", "EXISTS", "IS", "NULL", "EMPTY", "CONTAINS", "STARTS",
        "WITH", "_geoRadius", "_geoBoundingBox", "_geoPolygon"}) {
    EXPECT_EQ(Tree(std::string("a = ") + word), "error") << word;
    EXPECT_EQ(Tree(std::string(word) + " = 1"), "error") << word;
    EXPECT_EQ(Tree(std::string("a = '") + word + "'"), std::string("[a = <") + word + ">]");
  }
}

TEST(Filter, DetectsValuesThatAreNumbers) {
  const std::pair<const char*, std::optional<double>> cases[] = {
      {"10", 10},    {"-1.5", -1.5}, {"1e3", 1000}, {".1", .1},  {"010", 10},      {"5.", 5},
      {"+5", 5},     {"1e-400", 0},  {"nan", {}},   {"inf", {}}, {"infinity", {}}, {"1e400", {}},
      {"0x10", {}},  {" 1", {}},     {"1 ", {}},    {"", {}},    {"-", {}},        {"1e", {}},
      {"1_000", {}}, {"+-1", {}},    {"\u0661", {}}};
  for (const auto& [text, number] : cases) EXPECT_EQ(ParseFiniteNumber(text), number) << text;
}

TEST(Filter, ReadsGeoFunctions) {
  const Case cases[] = {
      {"_geoRadius(48.8, 2.3, 2000)", "{radius 48.8 2.3 2000 125}"},
      {"_geoRadius (48.8,2.3,1e6 , 10.9)", "{radius 48.8 2.3 1000000 10}"},
      {"_geoRadius(-90, +180, -5, 1000)", "{radius -90 180 -5 1000}"},
      {"_geoBoundingBox([49, 3], [45, 2])", "{box 49 3 45 2}"},
      {"_geoBoundingBox( [ -10 , -179 ] ,[-20,178] )", "{box -10 -179 -20 178}"},
      {"_geoPolygon([0, 0], [0, 1], [1, 1])", "{polygon 0 0 0 1 1 1}"},
      {"_geoPolygon([0, 0], [0, 1], [1, 1], [2, 2] , )", "{polygon 0 0 0 1 1 1 2 2}"},
      {"NOT _geoRadius(1, 2, 3) AND a = 1", "(and (not {radius 1 2 3 125}) [a = <1>])"},
  };
  for (const Case& c : cases) EXPECT_EQ(Tree(c.filter), c.tree) << c.filter;
  for (const char* wrong : {"_geoRadius",
                            "_geoRadius()",
                            "_geoRadius(1, 2)",
                            "_geoRadius(1, 2, 3, 4, 5)",
                            "_geoRadius(1, 2, 3",
                            "_geoRadius(1, 2, 3,)",
                            "_geoRadius 1, 2, 3",
                            "_geoRadius('1', '2', '3')",
                            "_geoRadius(north, 2, 10)",
                            "_geoRadius(91, 2, 10)",
                            "_geoRadius(-90.1, 2, 10)",
                            "_geoRadius(1, 180.1, 10)",
                            "_geoRadius(1, 2, nan)",
                            "_geoRadius(1, 2, 1e999)",
                            "_geoRadius(1, 2, 3, 2.9)",
                            "_geoRadius(1, 2, 3, 1001)",
                            "_georadius(1, 2, 3)",
                            "_geoBoundingBox([45, 2], [49, 3])",
                            "_geoBoundingBox([49, 3])",
                            "_geoBoundingBox(49, 3, 45, 2)",
                            "_geoBoundingBox([95, 3], [45, 2])",
                            "_geoBoundingBox([49, 3], [45, 2], [1, 1])",
                            "_geoPolygon([1, 1], [2, 2])",
                            "_geoPolygon()",
                            "_geoPolygon(1, 2, 3)",
                            "_geoPolygon([100, 1], [2, 2], [3, 3])",
                            "_geoPolygon([1, 1], [2, 2], [3, 3]",
                            "_geo = 1",
                            "_geo EXISTS",
                            "_geoPoint(1, 2)",
                            "_geoDistance < 5"}) {
    EXPECT_EQ(Tree(wrong), "error") << wrong;
  }
  const auto node = ParseFilter("_geoRadius(1, 190, 3)", {});
  EXPECT_NE(node.status().message().find("`-170`"), std::string::npos) << node.status().message();
}

TEST(Filter, ReadsVectorFilters) {
  const Case cases[] = {
      {"_vectors EXISTS", "{vectors <> any}"},
      {"_vectors NOT EXISTS", "(not {vectors <> any})"},
      {"_vectors.taste EXISTS", "{vectors <taste> any}"},
      {"_vectors.\"my taste\" EXISTS", "{vectors <my taste> any}"},
      {"_vectors.taste.userProvided EXISTS", "{vectors <taste> userProvided}"},
      {"_vectors.'a b'.regenerate NOT EXISTS", "(not {vectors <a b> regenerate})"},
      {"_vectors.taste.documentTemplate EXISTS", "{vectors <taste> documentTemplate}"},
      {"_vectors.taste.fragments.f-1 EXISTS", "{vectors <taste> fragment <f-1>}"},
      {"_vectors.taste.fragments.\"f 1\" EXISTS AND a = 1",
       "(and {vectors <taste> fragment <f 1>} [a = <1>])"},
      {"_vectors = 1", "[_vectors = <1>]"},
      {"_vectors.x.y IS NULL", "[_vectors.x.y IS NULL]"},
      {"_vectorsish EXISTS", "[_vectorsish EXISTS]"},
      {"_vectors.taste.nope EXISTS", "error"},
      {"_vectors.taste.fragments EXISTS", "error"},
      {"_vectors.taste.fragments.a.b EXISTS", "error"},
      {"_vectors. EXISTS", "error"},
      {"_vectors.\"taste\" = 1", "error"},
      {"_vectors.\"taste EXISTS", "error"},
  };
  for (const Case& c : cases) EXPECT_EQ(Tree(c.filter), c.tree) << c.filter;
}

TEST(Filter, RefusesTextOutsideTheGrammar) {
  for (const char* wrong : {"colour",
                            "colour =",
                            "= red",
                            "colour = red AND",
                            "colour = red OR OR price = 1",
                            "AND colour = red",
                            "colour = red price = 1",
                            "colour == red",
                            "colour => 3",
                            "colour =! red",
                            "colour <> red",
                            "colour ! red",
                            "colour = red,",
                            "colour : red",
                            "colour = NOT",
                            "colour IN red",
                            "colour IN [red",
                            "colour IN [red gold]",
                            "colour IN [,red]",
                            "colour IN [red,,gold]",
                            "colour IN (red)",
                            "colour NOT = red",
                            "colour IS red",
                            "colour IS",
                            "colour IS NOT",
                            "colour NOT IS NULL",
                            "colour EXIST",
                            "colour exists",
                            "colour EXISTSx",
                            "price 1 TO",
                            "price TO 2",
                            "price 1TO2",
                            "price 1 TO2",
                            "price '1'TO'2'",
                            "price 1 2",
                            "(colour = red",
                            "colour = red)",
                            "()",
                            "colour = \"red",
                            "colour = red and price = 1",
                            "colour = red ANDprice = 1",
                            "colour = red ORprice = 1",
                            "a = 'back\\slash'",
                            "a = \"\\x4\"",
                            "a = \"\\u{110000}\"",
                            "a = \"\\ud800\"",
                            "a = \"\\u{}\"",
                            "a = \"\\400\"x",
                            "a = a=b",
                            "a = it's",
                            "v = +10",
                            "title STARTS  WITH the",
                            "title STARTS",
                            "title STARTS IS NULL",
                            "title STARTS WITHx a",
                            "title STARTS WITH",
                            "title CONTAINS",
                            "title CONTAINS [a]",
                            "title contains max",
                            "NOT",
                            "a = 1 NOT b = 2",
                            "a IN",
                            "a IN [AND]"}) {
    EXPECT_EQ(Tree(wrong), "error") << wrong;
  }
}

TEST(Filter, LimitsNestingWithoutOverflow) {
  const auto nested = [](size_t levels, const char* open, const char* close) {
    std::string text;
    for (size_t i = 0; i < levels; ++i) text += open;
    text += "a = 1";
    for (size_t i = 0; i < levels; ++i) text += close;
    return text;
  };
  for (const auto& [open, close] : {std::pair{"(", ")"}, {"NOT ", ""}, {"NOT(", ")"}}) {
    const size_t per_level = std::string_view(open) == "NOT(" ? 2 : 1;
    EXPECT_NE(Tree(nested(kNestingMax / per_level, open, close)), "error");
    EXPECT_EQ(Tree(nested(kNestingMax / per_level + 1, open, close)), "error");
    EXPECT_EQ(Tree(nested(200000, open, close)), "error");
  }
  EXPECT_EQ(Tree(std::string(200000, '(')), "error");
}

TEST(Filter, AcceptsAnyNumberOfConditionsAndListItems) {
  std::string conditions = "a = 0", list = "a IN [0";
  for (int i = 1; i < 100000; ++i) {
    conditions += " OR a = " + std::to_string(i);
    list += ", \u00e9" + std::to_string(i);
  }
  EXPECT_EQ((*ParseFilter(conditions, {}))->children.size(), 100000u);
  EXPECT_EQ((*ParseFilter(list + "]", {}))->values.size(), 100000u);
}

TEST(Filter, JoinsArraysAsAndOfOr) {
  const Case cases[] = {
      {"null", "true"},
      {"\"\"", "true"},
      {"\"  \"", "true"},
      {"[]", "true"},
      {"[[]]", "true"},
      {"[[],[]]", "true"},
      {"[\"\"]", "true"},
      {"[[\"\"]]", "true"},
      {R"("a = 1")", "[a = <1>]"},
      {R"(["a = 1"])", "[a = <1>]"},
      {R"(["a = 1", "b = 2 OR c = 3"])", "(and [a = <1>] (or [b = <2>] [c = <3>]))"},
      {R"([["a = 1", "b = 2"], "c = 3"])", "(and (or [a = <1>] [b = <2>]) [c = <3>])"},
      {R"([["a = 1", "b = 2"]])", "(or [a = <1>] [b = <2>])"},
      {R"([["", "a = 1"]])", "[a = <1>]"},
      {R"(["a = 1", []])", "[a = <1>]"},
      {R"(["a = \"\\u00e9\""])", "[a = <\u00e9>]"},
      {"12", "error"},
      {"true", "error"},
      {R"({"a": "b"})", "error"},
      {"[12]", "error"},
      {"[null]", "error"},
      {R"(["a = 1", {"a": 1}])", "error"},
      {R"([[["a = 1"]]])", "error"},
      {R"([["a = 1", 4]])", "error"},
      {R"([[null]])", "error"},
      {R"(["a ="])", "error"},
      {"[", "error"},
      {"", "error"},
  };
  for (const Case& c : cases) EXPECT_EQ(JsonTree(c.filter), c.tree) << c.filter;
}

TEST(Filter, NamesTheFeatureThatIsOff) {
  const auto detail = [](std::string_view filter, FilterFeatures features = {}) {
    const auto node = ParseFilterJson(filter, features);
    return node.ok() ? "accepted" : node.status().detail();
  };
  EXPECT_EQ(detail(R"("a CONTAINS x")"), "feature_not_enabled");
  EXPECT_EQ(detail(R"("a NOT CONTAINS x")"), "feature_not_enabled");
  EXPECT_EQ(detail(R"("a CONTAINS x")", {.contains = true}), "accepted");
  EXPECT_EQ(detail(R"("a STARTS WITH x")"), "accepted");
  EXPECT_EQ(detail(R"("_vectors EXISTS")"), "feature_not_enabled");
  EXPECT_EQ(detail(R"("_vectors.e.regenerate NOT EXISTS")"), "feature_not_enabled");
  EXPECT_EQ(detail(R"("_vectors EXISTS")", {.multimodal = true}), "accepted");
  EXPECT_EQ(detail(R"_("_foreign(a, b = 1)")_"), "feature_not_enabled");
  EXPECT_EQ(detail(R"("_shard = a")"), "feature_not_enabled");
  EXPECT_EQ(detail(R"(["a CONTAINS x", "b ="])"), "invalid_search_filter");
  EXPECT_EQ(detail(R"("a CONTAINS x AND")"), "invalid_search_filter");
}

TEST(Filter, KeepsThePositionsOfConditionsForMessages) {
  const auto node = ParseFilter("\u00e9t\u00e9 = 'x' OR NOT b 1 TO 2", {});
  ASSERT_TRUE(node.ok());
  const Node& first = *(*node)->children[0];
  EXPECT_EQ(first.span.start, 1u);
  EXPECT_EQ(first.span.end, 10u);
  EXPECT_EQ(first.field_span.end, 4u);
  EXPECT_EQ(first.values[0].span.start, 7u);
  EXPECT_EQ(first.values[0].span.end, 10u);
  EXPECT_EQ(*first.source, "\u00e9t\u00e9 = 'x' OR NOT b 1 TO 2");
  const Node& second = *(*node)->children[1]->children[0];
  EXPECT_EQ(second.span.start, 18u);
  EXPECT_EQ(second.span.end, 26u);

  const auto wrong = ParseFilter("\u00e9 = 1 AND b = OR", {});
  EXPECT_NE(wrong.status().message().find("\n15:17 \u00e9 = 1 AND b = OR"), std::string::npos)
      << wrong.status().message();
}

// Writes a random tree both as an expression, with free choice of spaces, quotes and parentheses,
// and as what Show must print for it.
class RandomFilter {
 public:
  explicit RandomFilter(unsigned seed) : random_(seed) {}

  // binding  0: any expression is allowed, 1: operand of AND, 2: operand of NOT
  void Write(int depth, int binding, std::string& text, std::string& tree) {
    const unsigned pick = Below(depth > 4 ? 1 : 4);
    if (pick == 0) return Condition(text, tree);
    if (pick == 1) {
      text += "NOT";
      const bool parenthesis = Below(2);
      text += parenthesis ? Space() + "(" : Spaces();
      std::string child;
      Write(depth + 1, parenthesis ? 0 : 2, text, child);
      if (parenthesis) text += Space() + ")";
      tree +=
          child.starts_with("(not ") ? child.substr(5, child.size() - 6) : "(not " + child + ")";
      return;
    }
    const bool is_or = pick == 3;
    const bool parenthesis = (is_or ? 0 : 1) < binding || Below(4) == 0;
    if (parenthesis) text += "(" + Space();
    tree += is_or ? "(or" : "(and";
    const unsigned count = 2 + Below(3);
    for (unsigned i = 0; i < count; ++i) {
      if (i) text += (text.back() == ')' ? Space() : Spaces()) + (is_or ? "OR" : "AND") + Spaces();
      tree += ' ';
      // An operand of the same kind needs its parentheses to stay a child.
      Write(depth + 1, is_or ? 1 : 2, text, tree);
    }
    tree += ')';
    if (parenthesis) text += Space() + ")";
  }

  unsigned Below(unsigned end) { return random_() % end; }

 private:
  std::string Space() {
    std::string space;
    for (unsigned i = Below(3); i > 0; --i) space += " \t\r\n"[Below(4)];
    return space;
  }
  std::string Spaces() { return " " + Space(); }

  std::string Value(std::string& tree) {
    static constexpr const char* kBare[] = {"a",     "b.c",    "-1", "2.5e3", "\u00e9t\u00e9",
                                            "x_y-z", "_geoish"};
    static constexpr const char* kPieces[] = {"AND", " ",  "(",      "]", "\"", "'",
                                              "\\",  "\n", "\u6771", "=", ","};
    if (Below(2)) {
      const std::string bare = kBare[Below(std::size(kBare))];
      tree += bare;
      return bare;
    }
    const char quote = Below(2) ? '"' : '\'';
    std::string text(1, quote);
    for (unsigned i = Below(5); i > 0; --i) {
      const std::string piece = kPieces[Below(std::size(kPieces))];
      tree += piece;
      if (piece == "\\" || piece[0] == quote) text += '\\';
      text += piece;
    }
    return text + quote;
  }

  void Condition(std::string& text, std::string& tree) {
    std::string field, value;
    const std::string field_text = Value(field), value_text = Value(value);
    const unsigned kind = Below(6);
    const bool negated = kind >= 3 && Below(2);
    if (negated) tree += "(not ";
    tree += "[" + field;
    text += field_text;
    if (kind == 0) {
      const char* const op = std::array{"=", "!=", ">", ">=", "<", "<="}[Below(6)];
      text += Space() + op + Space() + value_text;
      tree += std::string(" ") + op + " <" + value + ">";
    } else if (kind == 1) {
      std::string high;
      text += Spaces() + value_text + Spaces() + "TO" + Spaces();
      text += Value(high);
      tree += " TO <" + value + "> <" + high + ">";
    } else if (kind == 2) {
      text += Spaces() + "EXISTS";
      tree += " EXISTS";
    } else if (kind == 3) {
      text += Spaces() + (negated ? "NOT" + Spaces() : "") + "IN" + Space() + "[" + Space();
      tree += " IN";
      for (unsigned i = Below(4); i > 0; --i) {
        std::string item;
        text += Value(item) + Space() + (i > 1 || Below(2) ? "," : "") + Space();
        tree += " <" + item + ">";
      }
      text += "]";
    } else if (kind == 4) {
      text += Spaces() + "IS" + Spaces() + (negated ? "NOT" + Spaces() : "") + "NULL";
      tree += " IS NULL";
    } else {
      text += Spaces() + (negated ? "NOT" + Spaces() : "") + "STARTS WITH" + Spaces() + value_text;
      tree += " STARTS WITH <" + value + ">";
    }
    tree += negated ? "])" : "]";
  }

  std::mt19937 random_;
};

TEST(Filter, ReadsBackRandomTrees) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  RandomFilter random(seed);
  for (int round = 0; round < 20000; ++round) {
    std::string text, tree;
    random.Write(0, 0, text, tree);
    ASSERT_EQ(Tree(text), tree) << text;
  }
}

TEST(Filter, NeverCrashesOnDamagedExpressions) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  RandomFilter random(seed);
  for (int round = 0; round < 20000; ++round) {
    std::string text, tree;
    random.Write(0, 0, text, tree);
    for (int i = 0; i < 3 && !text.empty(); ++i) {
      const size_t at = random.Below(static_cast<unsigned>(text.size()));
      if (random.Below(2))
        text.erase(at, 1 + random.Below(4));
      else
        text[at] = "()[],'\"\\ =<>!NO_\xc3\x80"[random.Below(19)];
    }
    (void)ParseFilter(text, {});
  }
}

}  // namespace
}  // namespace gannet::filter
