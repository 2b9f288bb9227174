#include "base/json_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "test_seed.h"

namespace gannet::json {
namespace {

std::string Minified(std::string_view value) {
  std::string out = "before ";
  AppendMinified(out, value);
  EXPECT_TRUE(out.starts_with("before "));
  return out.substr(7);
}

TEST(Minified, HasNoWhiteSpaceBetweenTokens) {
  EXPECT_EQ(
      Minified(
          " { \"a b\" : [ 1 ,\n\t-2.50E+1 , \"x : y\" ] , \"\" : { } , \"n\":[ null,true ] } "),
      R"({"a b":[1,-2.50E+1,"x : y"],"":{},"n":[null,true]})");
  EXPECT_EQ(Minified(R"("a \" b" )"), R"("a \" b")");
  EXPECT_EQ(Minified(R"({"\u0061":1,"b\n":2})"), "{\"a\":1,\"b\\n\":2}");
}

TEST(Minified, KeepsTheLastOfMembersWithOneName) {
  EXPECT_EQ(Minified(R"({"a":1,"b":2,"a":3})"), R"({"a":3,"b":2})");
  EXPECT_EQ(Minified(R"([{"a" : 1, "\u0061" : {"c":[], "c" : "c"}}, "{\"a\":1,\"a\":2}"])"),
            R"([{"a":{"c":"c"}},"{\"a\":1,\"a\":2}"])");
  // Nested or adjacent objects each have their own names.
  EXPECT_EQ(Minified(R"({"a":{"a":{"b":1}},"b":[{"a":1},{"a":2}]})"),
            R"({"a":{"a":{"b":1}},"b":[{"a":1},{"a":2}]})");
}

// A random value as text with white space and repeated names, and the expected result.
class Values {
 public:
  explicit Values(std::mt19937_64& random) : random_(random) {}

  std::pair<std::string, std::string> Make(int depth = 0) {
    const uint64_t kind = depth > 4 ? 0 : Below(3);
    if (kind == 0) {
      const std::string scalar =
          std::vector<std::string>{"1", "null", R"("x,:{")", R"("\"")"}[Below(4)];
      return {Space() + scalar + Space(), scalar};
    }
    std::string text = kind == 1 ? "[" : "{";
    std::vector<std::pair<std::string, std::string>> kept;  // name, value
    for (uint64_t i = 0, n = Below(5); i < n; ++i) {
      auto [value, minified] = Make(depth + 1);
      const uint64_t name = Below(6);
      const std::string plain(1, static_cast<char>('a' + name));
      if (i > 0) text += ',';
      if (kind == 2) {
        const bool escaped = Below(8) == 0;
        text += Space() + '"' + (escaped ? "\\u006" + std::to_string(name + 1) : plain) + '"' +
                Space() + ':';
        const auto same = std::find_if(kept.begin(), kept.end(),
                                       [&](const auto& member) { return member.first == plain; });
        if (same == kept.end()) {
          kept.emplace_back(plain, minified);
        } else {
          same->second = minified;
        }
      } else {
        kept.emplace_back("", minified);
      }
      text += value;
    }
    std::string expected = kind == 1 ? "[" : "{";
    for (size_t i = 0; i < kept.size(); ++i) {
      if (i > 0) expected += ',';
      if (kind == 2) expected += '"' + kept[i].first + "\":";
      expected += kept[i].second;
    }
    const char close = kind == 1 ? ']' : '}';
    return {Space() + text + Space() + close, expected + close};
  }

 private:
  uint64_t Below(uint64_t end) { return random_() % end; }
  std::string Space() {
    return Below(3) == 0 ? std::vector<std::string>{" ", "\n", "\t\r "}[Below(3)] : "";
  }

  std::mt19937_64& random_;
};

// Escaped names may be respelled, so names are compared by their decoded form.
std::string WithPlainNames(std::string text) {
  for (char c = 'a'; c <= 'f'; ++c) {
    const std::string escaped = "\"\\u006" + std::to_string(c - 'a' + 1) + "\":";
    for (size_t at; (at = text.find(escaped)) != text.npos;)
      text.replace(at, escaped.size(), '"' + std::string(1, c) + "\":");
  }
  return text;
}

TEST(Minified, AgreesWithAReferenceModelOfTheMembers) {
  std::mt19937_64 random(TestSeed());
  Values values(random);
  for (int i = 0; i < 3000; ++i) {
    const auto [text, expected] = values.Make();
    ASSERT_EQ(WithPlainNames(Minified(text)), expected) << text;
  }
}

}  // namespace
}  // namespace gannet::json
