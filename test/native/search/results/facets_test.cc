#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <set>

#include "bitmap/random_docids.h"
#include "comparisons.h"
#include "index/naive_index.h"
#include "index/random_documents.h"
#include "search/results/facet_counts.h"
#include "search/results/facet_merge.h"
#include "search/results/facet_search.h"
#include "text/normalize.h"

namespace gannet::search {
namespace {

struct NaiveValue {
  bool is_number;
  double number;
  std::string string, shown;
  uint64_t count = 0;
};

// The fewest digits that parse to the same number, in decimal notation.
std::string Decimal(double number) {
  char text[400];
  for (int digits = 0; digits <= 17; ++digits) {
    std::snprintf(text, sizeof(text), "%.*e", digits, number);
    if (std::strtod(text, nullptr) == number) break;
  }
  const std::string_view scientific = text;
  std::string digits;
  for (const char c : scientific.substr(0, scientific.find('e'))) {
    if (c >= '0' && c <= '9') digits += c;
  }
  const int point = std::atoi(text + scientific.find('e') + 1) + 1;  // digits before the point
  while (static_cast<int>(digits.size()) < point) digits += '0';
  while (digits.size() > 1 && static_cast<int>(digits.size()) > point && digits.back() == '0')
    digits.pop_back();
  const std::string sign = number < 0 ? "-" : "";
  if (point <= 0) return sign + "0." + std::string(static_cast<size_t>(-point), '0') + digits;
  if (static_cast<int>(digits.size()) == point) return sign + digits;
  return sign + digits.substr(0, static_cast<size_t>(point)) + "." +
         digits.substr(static_cast<size_t>(point));
}

// Values of a field among documents, by ascending docid, which decides their spelling.
std::vector<NaiveValue> NaiveCount(const NaiveIndex& documents, const DocSet& candidates,
                                   const std::string& field) {
  std::map<double, NaiveValue> numbers;
  std::map<std::string, NaiveValue> strings;
  for (const NaiveDocument* document : documents.Among(candidates)) {
    const NaiveValues& own = document->Of(field);
    for (size_t i = 0; i < own.numbers.size(); ++i) {
      const double number = own.numbers[i] == 0 ? 0 : own.numbers[i];  // without a sign
      if (std::find(own.numbers.begin(), own.numbers.begin() + static_cast<ptrdiff_t>(i), number) !=
          own.numbers.begin() + static_cast<ptrdiff_t>(i)) {
        continue;
      }
      ++numbers.try_emplace(number, NaiveValue{true, number, "", Decimal(number)})
            .first->second.count;
    }
    for (size_t i = 0; i < own.strings.size(); ++i) {
      if (std::find(own.strings.begin(), own.strings.begin() + static_cast<ptrdiff_t>(i),
                    own.strings[i]) != own.strings.begin() + static_cast<ptrdiff_t>(i)) {
        continue;
      }
      ++strings.try_emplace(own.strings[i], NaiveValue{false, 0, own.strings[i], own.originals[i]})
            .first->second.count;
    }
  }
  std::vector<NaiveValue> out;
  for (const auto& [key, value] : numbers) out.push_back(value);
  for (const auto& [key, value] : strings) out.push_back(value);
  return out;
}

std::vector<std::pair<std::string, uint64_t>> NaiveShown(std::vector<NaiveValue> values,
                                                         bool by_count, bool by_text, size_t max) {
  std::sort(values.begin(), values.end(), [&](const NaiveValue& a, const NaiveValue& b) {
    if (a.is_number != b.is_number) return a.is_number;
    if (by_count && a.count != b.count) return a.count > b.count;
    if (by_count) return a.is_number ? a.number > b.number : a.string > b.string;
    if (a.is_number && by_text) return a.shown < b.shown;
    return a.is_number ? a.number < b.number : a.string < b.string;
  });
  if (values.size() > max) values.resize(max);
  std::vector<std::pair<std::string, uint64_t>> out;
  for (const NaiveValue& value : values) {
    const auto same =
        std::find_if(out.begin(), out.end(), [&](const auto& v) { return v.first == value.shown; });
    if (same != out.end()) {
      same->second = value.count;
    } else {
      out.emplace_back(value.shown, value.count);
    }
  }
  return out;
}

std::string SettingsWith(const std::string& faceting) {
  return R"({"filterableAttributes":["mixed","number","tag","o","when","_geo","never"],"faceting":)" +
         faceting + "}";
}

TEST(FacetOracle, CountsLikeAWalkOverTheDocuments) {
  RandomDocuments random(TestSeed());
  std::vector<std::string> fields = kRandomFields;
  fields.push_back("_geo.lat");
  for (Comparisons comparisons(8000); comparisons.Left();) {
    static const size_t kLimits[] = {0, 1, 2, 5, 100, 100, 1000, 100000};
    const size_t max = kLimits[random.Below(std::size(kLimits))];
    std::map<std::string, bool> by_count;
    for (const std::string& field : fields) {
      if (random.Below(3) == 0) by_count[field] = random.Below(2) == 0;
    }
    if (random.Below(2) == 0) by_count["*"] = random.Below(2) == 0;
    std::string order;
    for (const auto& [field, count] : by_count) {
      order += (order.empty() ? "\"" : ",\"") + field + "\":\"" + (count ? "count\"" : "alpha\"");
    }
    IndexedDocuments index(SettingsWith("{\"maxValuesPerFacet\":" + std::to_string(max) +
                                        ",\"sortFacetValuesBy\":{" + order + "}}"));
    const uint64_t size = random.Below(40);
    random.Fill(index, size == 0 ? 5000 : size < 16 ? 300 : 50);
    const auto snapshot = index.snapshot();
    const NaiveIndex documents(index, fields);
    for (int i = size == 0 ? 4 : 40; i > 0 && comparisons.Left(); --i) {
      const DocSet candidates =
          i % 20 == 0 ? snapshot->documents : random.Some(snapshot->documents);
      const auto counted = CountFacets(*snapshot, {"*", "_geo"}, candidates);
      ASSERT_TRUE(counted.ok()) << counted.status().message();
      std::string before;
      for (const FacetDistribution& distribution : *counted) {
        ASSERT_LT(before, distribution.field);
        before = distribution.field;
        if (std::find(fields.begin(), fields.end(), before) == fields.end()) continue;
        if (!comparisons.Next()) break;
        const bool count =
            by_count.contains(before) ? by_count[before] : by_count.contains("*") && by_count["*"];
        const auto values = NaiveCount(documents, candidates, before);
        std::vector<std::pair<std::string, uint64_t>> found;
        for (const FacetValue& value : distribution.values)
          found.emplace_back(value.shown, value.count);
        // In the order by count, 0 means no limit.
        const size_t limit = max == 0 && count ? SIZE_MAX : max;
        ASSERT_EQ(found, NaiveShown(values, count, candidates.size() <= 3000, limit))
            << before << " among " << candidates.size() << " with " << order << " and " << max;
        std::optional<std::pair<double, double>> stats;
        for (const NaiveValue& value : values) {
          if (!value.is_number) continue;
          if (!stats) stats = {value.number, value.number};
          stats = {std::min(stats->first, value.number), std::max(stats->second, value.number)};
        }
        ASSERT_EQ(distribution.stats, stats) << before;
      }
      ASSERT_FALSE(counted->empty());
    }
  }
}

// The output of AppendFacets, or the code of the error.
std::string Facets(const IndexedDocuments& index, const std::vector<std::string>& facets) {
  std::string out;
  const Status status = AppendFacets(*index.snapshot(), facets, index.snapshot()->documents, out);
  return status.ok() ? out : status.detail();
}

TEST(AppendFacets, ShowsNumbersInDecimalNotation) {
  IndexedDocuments index(R"({"filterableAttributes":["n"]})");
  index.Put(
      {{0, R"({"n":[0,1e21,-3,12.5,1e-7,123456.75,"7"]})"}, {1, R"({"n":[40,-0.0,1000000]})"}});
  EXPECT_EQ(
      Facets(index, {"n"}),
      R"("facetDistribution":{"n":{"-3":1,"0":2,"0.0000001":1,"1000000":1,"1000000000000000000000":1,)"
      R"("12.5":1,"123456.75":1,"40":1,"7":1}},"facetStats":{"n":{"min":-3.0,"max":1e+21}})");
}

TEST(AppendFacets, SpellsAValueAsTheFirstCandidateDoes) {
  IndexedDocuments index(R"({"filterableAttributes":["colour","a.b"]})");
  index.Put(
      {{4, R"({"colour":"blue"})"}, {5, R"({"colour":["x","BLUE"],"a":[{"b":"Ä"},{"b":"y"}]})"}});
  index.Put({{1, R"({"colour":"Blue"})"}, {2, R"({"colour":"BLue"})"}, {3, R"({"a.b":"ä"})"}});
  const auto spelled = [&](const DocSet& candidates) {
    std::string out;
    EXPECT_TRUE(AppendFacets(*index.snapshot(), {"*"}, candidates, out).ok());
    return out;
  };
  EXPECT_EQ(
      spelled(DocSet::Range(0, 9)),
      R"("facetDistribution":{"a.b":{"ä":2,"y":1},"colour":{"Blue":4,"x":1}},"facetStats":{})");
  EXPECT_EQ(
      spelled(DocSet::Range(2, 6)),
      R"("facetDistribution":{"a.b":{"ä":2,"y":1},"colour":{"BLue":3,"x":1}},"facetStats":{})");
  EXPECT_EQ(
      spelled(DocSet::Range(5, 6)),
      R"("facetDistribution":{"a.b":{"Ä":1,"y":1},"colour":{"BLUE":1,"x":1}},"facetStats":{})");
  index.Delete({1, 2, 4});
  EXPECT_EQ(
      spelled(index.snapshot()->documents),
      R"("facetDistribution":{"a.b":{"ä":2,"y":1},"colour":{"BLUE":1,"x":1}},"facetStats":{})");
}

// The names of the attributes selected, or the code of the error.
std::string Selected(const IndexedDocuments& index, const std::vector<std::string>& facets) {
  const auto counted = CountFacets(*index.snapshot(), facets, index.snapshot()->documents);
  if (!counted.ok()) return counted.status().detail();
  std::string out;
  for (const FacetDistribution& distribution : *counted) out += distribution.field + " ";
  return out;
}

TEST(CountFacets, SelectsAttributesByNameParentAndPattern) {
  const std::map<DocId, std::string> batch = {
      {0,
       R"({"genres":["a"],"director":{"name":"b","country":"c"},"cast":[{"role":"d","name":"e"}],"year":1,"rating":2})"}};
  const std::string kInvalid = "invalid_search_facets";
  IndexedDocuments plain(
      R"({"filterableAttributes":["genres","director","cast.role","year","never"]})");
  plain.Put(batch);
  EXPECT_EQ(Selected(plain, {"*"}),
            "cast.role director director.country director.name genres year ");
  EXPECT_EQ(Selected(plain, {"director"}), "director director.country director.name ");
  EXPECT_EQ(Selected(plain, {"director.*"}), "director.country director.name ");
  EXPECT_EQ(Selected(plain, {"director.name"}), "director.name ");
  EXPECT_EQ(Selected(plain, {"cast"}), "");
  EXPECT_EQ(Selected(plain, {"never"}), "");
  EXPECT_EQ(Selected(plain, {"*e*"}),
            "cast.role director director.country director.name genres year ");
  EXPECT_EQ(Selected(plain, {"dir*", "year"}), "director director.country director.name year ");
  for (const char* item : {"cast.name", "*name", "zzz*", "d*r.name", "rating", ""}) {
    EXPECT_EQ(Selected(plain, {"*", item}), kInvalid) << item;
  }
  IndexedDocuments rules(
      R"({"filterableAttributes":[{"attributePatterns":["genres","director.country"],)"
      R"("features":{"filter":{"equality":true}}},)"
      R"({"attributePatterns":["year"],"features":{"facetSearch":true,"filter":{"equality":false}}},)"
      R"({"attributePatterns":["rat*"],"features":{"filter":{"equality":false,"comparison":true}}}]})");
  rules.Put(batch);
  EXPECT_EQ(Selected(rules, {"*"}), "director.country genres rating ");
  EXPECT_EQ(Selected(rules, {"director"}), "");
  EXPECT_EQ(Selected(rules, {"rating", "year"}), kInvalid);
  IndexedDocuments none("{}");
  none.Put(batch);
  EXPECT_EQ(Selected(none, {"*"}), kInvalid);
}

TEST(CountFacets, AZeroLimitMeansNoValuesOnlyInTheOrderByValue) {
  IndexedDocuments index(
      R"({"filterableAttributes":["a","b"],"faceting":{"maxValuesPerFacet":0,"sortFacetValuesBy":{"b":"count"}}})");
  index.Put({{0, R"({"a":1,"b":1})"}});
  EXPECT_EQ(
      Facets(index, {"a", "b"}),
      R"("facetDistribution":{"a":{},"b":{"1":1}},"facetStats":{"a":{"min":1.0,"max":1.0},"b":{"min":1.0,"max":1.0}})");
}

TEST(MergeDistributions, AddsCountsOfEqualTexts) {
  const FacetDistribution a{"f", false, {{"x", 2}, {"y", 1}}, std::pair(1.0, 2.0)};
  const FacetDistribution b{"f", false, {{"a", 5}, {"y", 3}}, std::pair(-1.0, 1.5)};
  const FacetDistribution merged = MergeDistributions({&a, &b}, 2);
  ASSERT_EQ(merged.values.size(), 2u);
  EXPECT_EQ(merged.values[0].shown, "a");
  EXPECT_EQ(merged.values[1].count, 2u);
  EXPECT_EQ(merged.stats, std::optional(std::pair(-1.0, 2.0)));
  FacetDistribution by_count = a;
  by_count.by_count = true;
  EXPECT_EQ(MergeDistributions({&by_count, &b}, std::nullopt).values[1].shown, "y");
}

// ---- Facet search ----

// Whether some prefix of the word is accepted, with the full table of distances.
bool NaivePrefixMatch(const std::string& query, const std::string& word, int typos) {
  const size_t n = query.size();
  std::vector<std::vector<size_t>> d(word.size() + 1, std::vector<size_t>(n + 1));
  for (size_t w = 0; w <= word.size(); ++w) {
    for (size_t q = 0; q <= n; ++q) {
      if (w == 0 || q == 0) {
        d[w][q] = w + q;
      } else {
        d[w][q] = std::min(
            {d[w - 1][q] + 1, d[w][q - 1] + 1, d[w - 1][q - 1] + (word[w - 1] != query[q - 1])});
        if (w > 1 && q > 1 && word[w - 1] == query[q - 2] && word[w - 2] == query[q - 1]) {
          d[w][q] = std::min(d[w][q], d[w - 2][q - 2] + 1);
        }
      }
    }
    if (d[w][n] <= static_cast<size_t>(typos) &&
        d[w][n] == *std::min_element(d[w].begin(), d[w].end()))
      return true;
  }
  return d[word.size()][n] <= static_cast<size_t>(typos);
}

TEST(PrefixMatcher, AgreesWithTheTableOfDistances) {
  RandomDocuments random(TestSeed());
  const auto word = [&](size_t length) {
    std::string out;
    for (size_t i = random.Below(length); i > 0; --i)
      out += static_cast<char>('a' + random.Below(3));
    return out;
  };
  for (int round = 0; round < 300; ++round) {
    const std::string query = word(9) + "a";
    const int typos = static_cast<int>(random.Below(3));
    PrefixMatcher matcher(query, typos);
    std::set<std::string> words;
    for (int i = 0; i < 60; ++i) words.insert(word(12));
    for (const std::string& candidate : words) {
      const bool expected =
          typos == 0 ? candidate.starts_with(query) : NaivePrefixMatch(query, candidate, typos);
      ASSERT_EQ(matcher.Matches(candidate), expected) << query << " " << candidate << " " << typos;
      if (!matcher.settled_by()) continue;
      const std::string longer = candidate.substr(0, *matcher.settled_by()) + word(6);
      ASSERT_EQ(typos == 0 ? longer.starts_with(query) : NaivePrefixMatch(query, longer, typos),
                expected)
          << query << " " << candidate << " settles " << longer;
    }
  }
}

// Values found as `value:count`, or the code of the error.
std::string Hits(const IndexedDocuments& index, const std::string& facet,
                 const std::optional<std::string>& query, const DocSet* candidates = nullptr) {
  const auto hits =
      SearchFacet(*index.snapshot(), facet, query,
                  candidates == nullptr ? index.snapshot()->documents : *candidates, {});
  if (!hits.ok()) return hits.status().detail();
  std::string out;
  for (const FacetValue& hit : *hits) out += hit.shown + ":" + std::to_string(hit.count) + " ";
  return out;
}

TEST(SearchFacet, FindsValuesByThePrefixOfTheirLossyForm) {
  IndexedDocuments index(
      R"({"filterableAttributes":["cuisine","name","ingredients","vegetarian","minutes","never"]})");
  index.Put(
      {{1,
        R"({"name":"Crème brûlée","cuisine":"French","minutes":75,"vegetarian":true,"ingredients":["cream","egg yolk"]})"},
       {2,
        R"({"name":"Bœuf bourguignon","cuisine":"french","vegetarian":false,"ingredients":["onion","egg"]})"},
       {3,
        R"({"name":"Jörg Weiß","cuisine":"Mexican","vegetarian":true,"ingredients":["jalapeño","cream cheese"]})"}});
  EXPECT_EQ(Hits(index, "cuisine", std::nullopt), "French:2 Mexican:1 ");
  EXPECT_EQ(Hits(index, "cuisine", ""), "French:2 Mexican:1 ");
  EXPECT_EQ(Hits(index, "cuisine", "FR"), "French:2 ");
  EXPECT_EQ(Hits(index, "cuisine", "ench"), "");
  EXPECT_EQ(Hits(index, "cuisine", "fernch"), "French:2 ");
  EXPECT_EQ(Hits(index, "cuisine", "mexcan"), "Mexican:1 ");
  EXPECT_EQ(Hits(index, "ingredients", "jalapeno"), "jalapeño:1 ");
  EXPECT_EQ(Hits(index, "ingredients", "cream"), "cream:1 cream cheese:1 ");
  EXPECT_EQ(Hits(index, "ingredients", "cream ch"), "cream cheese:1 ");
  EXPECT_EQ(Hits(index, "ingredients", " onion"), "onion:1 ");
  EXPECT_EQ(Hits(index, "name", "boeuf"), "Bœuf bourguignon:1 ");
  EXPECT_EQ(Hits(index, "name", "creme"), "Crème brûlée:1 ");
  EXPECT_EQ(Hits(index, "name", "jorg"), "Jörg Weiß:1 ");
  EXPECT_EQ(Hits(index, "vegetarian", "t"), "true:2 ");
  EXPECT_EQ(Hits(index, "minutes", "7"), "");
  EXPECT_EQ(Hits(index, "never", std::nullopt), "");
  EXPECT_EQ(Hits(index, "steps", std::nullopt), "invalid_facet_search_facet_name");
  const DocSet second = DocSet::Range(2, 3);
  EXPECT_EQ(Hits(index, "cuisine", std::nullopt, &second), "French:1 ")
      << "spelled as in the first of all documents";
}

// The first values are those of a loop that sorts all of them, although most are not counted.
TEST(SearchFacet, FindsTheFirstValuesOfALoop) {
  std::mt19937_64 random(TestSeed());
  static constexpr const char* kLetters[] = {"a", "b", "z", " ", "é", "ä", "ß", "ø", "京", "B"};
  for (int round = 0; round < 12; ++round) {
    const size_t max = 1 + random() % 6, letters = random() % 2 == 0 ? 5 : std::size(kLetters);
    IndexedDocuments index(R"({"filterableAttributes":["v"],"faceting":{"maxValuesPerFacet":)" +
                           std::to_string(max) + "}}");
    std::map<DocId, std::string> values;  // of the documents, as they are written
    DocId docid = 0;
    for (int batch = 0; batch < 3; ++batch) {
      std::map<DocId, std::string> documents;
      for (int i = 0; i < 60; ++i, ++docid) {
        std::string value = random() % 2 == 0 ? "a" : "é";
        for (uint64_t n = random() % 4; n > 0; --n) value += kLetters[random() % letters];
        documents[docid] = "{\"id\":" + std::to_string(docid) + ",\"v\":\"" + value + "\"}";
        values[docid] = value;
      }
      index.Put(documents);
    }
    for (int i = 0; i < 40; ++i) {
      std::string query = random() % 2 == 0 ? "a" : "é";
      for (uint64_t n = random() % 2; n > 0; --n) query += kLetters[random() % letters];
      DocSet candidates;
      const uint64_t share = 1 + random() % 3;
      for (const auto& [id, value] : values) {
        if (random() % share == 0) candidates.Add(id);
      }
      struct Expected {
        std::string form, facet, shown;
        uint64_t count = 0;
      };
      std::map<std::string, Expected> by_facet;
      const std::string wanted = text::NormalizeLossy(query, {});
      for (const auto& [id, value] : values) {
        std::string facet;
        text::NormalizeFacet(value, facet);
        auto& one =
            by_facet.try_emplace(facet, Expected{text::NormalizeLossy(facet, {}), facet, value})
                .first->second;
        one.count += candidates.Contains(id) ? 1 : 0;
      }
      std::vector<Expected> sorted;
      for (const auto& [facet, one] : by_facet) {
        if (one.count > 0 && one.form.starts_with(wanted)) sorted.push_back(one);
      }
      std::stable_sort(sorted.begin(), sorted.end(),
                       [](const auto& a, const auto& b) { return a.form < b.form; });
      std::string expected;
      for (size_t n = 0; n < std::min(max, sorted.size()); ++n)
        expected += sorted[n].shown + ":" + std::to_string(sorted[n].count) + " ";
      ASSERT_EQ(Hits(index, "v", query, &candidates), expected) << query;
    }
  }
}

TEST(SearchFacet, FollowsTypoToleranceAndFaceting) {
  const std::map<DocId, std::string> batch = {{1, R"({"c":["German","Mexican"],"d":"German"})"},
                                              {2, R"({"c":"Mexican"})"}};
  const auto with = [&](const std::string& settings) {
    auto index = std::make_unique<IndexedDocuments>(R"({"filterableAttributes":["c","d"],)" +
                                                    settings + "}");
    index->Put(batch);
    return index;
  };
  EXPECT_EQ(Hits(*with(R"("typoTolerance":{"enabled":false})"), "c", "grman"), "");
  const auto attributes = with(R"("typoTolerance":{"disableOnAttributes":["c"]})");
  EXPECT_EQ(Hits(*attributes, "c", "grman"), "");
  EXPECT_EQ(Hits(*attributes, "d", "grman"), "German:1 ");
  EXPECT_EQ(Hits(*with(R"("typoTolerance":{"disableOnWords":["germ"]})"), "c", "germ"), "");
  EXPECT_EQ(Hits(*with(R"("typoTolerance":{"disableOnWords":["german"]})"), "c", "German"),
            "German:1 ");
  EXPECT_EQ(Hits(*with(R"("typoTolerance":{"minWordSizeForTypos":{"oneTypo":6,"twoTypos":9}})"),
                 "c", "grman"),
            "");
  EXPECT_EQ(Hits(*with(R"("faceting":{"maxValuesPerFacet":1})"), "c", ""), "German:1 ");
  EXPECT_EQ(Hits(*with(R"("faceting":{"maxValuesPerFacet":1,"sortFacetValuesBy":{"c":"count"}})"),
                 "c", ""),
            "Mexican:2 ");
  EXPECT_EQ(Hits(*with(R"("faceting":{"maxValuesPerFacet":0,"sortFacetValuesBy":{"c":"count"}})"),
                 "c", ""),
            "");
  EXPECT_EQ(Hits(*with(R"("facetSearch":false)"), "c", ""), "facet_search_disabled");
}

TEST(FacetSearchOracle, FindsAndCountsLikeAWalkOverTheDocuments) {
  RandomDocuments random(TestSeed());
  const std::vector<std::string> fields = {"mixed", "tag", "o.x", "when"};
  static const char* const kQueries[] = {
      "r",         "ro",        "rose", "rsoe",  "tag 1",   "tag12",     "tga 2",
      "zerba cro", "zebra",     "1",    "i",     "strasse", "stra",      "fin",
      "2024-01",   "2024-10-1", "true", "flase", "l",       "llllllllll"};
  for (Comparisons comparisons(3000); comparisons.Left();) {
    const bool by_count = random.Below(2) == 0;
    const size_t max = random.Below(3) == 0 ? 1000 : 8;
    IndexedDocuments index(SettingsWith("{\"maxValuesPerFacet\":" + std::to_string(max) +
                                        ",\"sortFacetValuesBy\":{\"*\":\"" +
                                        std::string(by_count ? "count" : "alpha") + "\"}}"));
    const uint64_t size = random.Below(20);
    random.Fill(index, size == 0 ? 2000 : size < 8 ? 150 : 40);
    const auto snapshot = index.snapshot();
    const NaiveIndex documents(index, fields);
    std::map<std::string, std::string> lossy;
    for (const std::string& field : fields) {
      std::map<std::string, std::string> spelled;
      for (const NaiveValue& value : NaiveCount(documents, snapshot->documents, field)) {
        spelled[value.string] = value.shown;
        lossy[value.string] = text::NormalizeLossy(value.string, {});
      }
      for (int i = size == 0 ? 12 : 40; i > 0 && comparisons.Next(); --i) {
        const std::optional<std::string> query =
            random.Below(8) == 0
                ? std::nullopt
                : std::optional<std::string>(kQueries[random.Below(std::size(kQueries))]);
        const DocSet candidates = random.Some(snapshot->documents);
        const int typos = !query || query->size() < 5 ? 0 : query->size() < 9 ? 1 : 2;
        std::vector<NaiveValue> expected;
        for (NaiveValue& value : NaiveCount(documents, candidates, field)) {
          if (value.is_number) continue;
          const std::string& form = lossy[value.string];
          if (query &&
              !(typos == 0 ? form.starts_with(*query) : NaivePrefixMatch(*query, form, typos)))
            continue;
          value.shown = spelled[value.string];
          expected.push_back(value);
        }
        const auto form = [&](const NaiveValue& v) {
          return query ? lossy[v.string] + '\0' + v.string : v.string;
        };
        std::sort(expected.begin(), expected.end(), [&](const NaiveValue& a, const NaiveValue& b) {
          if (!by_count) return form(a) < form(b);
          return a.count != b.count ? a.count > b.count : a.shown > b.shown;
        });
        if (expected.size() > max) expected.resize(max);
        std::string text;
        for (const NaiveValue& value : expected)
          text += value.shown + ":" + std::to_string(value.count) + " ";
        ASSERT_EQ(Hits(index, field, query, &candidates), text)
            << field << " " << query.value_or("-");
      }
    }
  }
}

}  // namespace
}  // namespace gannet::search
