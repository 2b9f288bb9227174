#include "search/query/term_expansion.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "search/query/query_bench.h"

namespace gannet::search {
namespace {

constexpr const char* kTypos = R"({})";

using TextList = std::vector<std::string>;

TextList Words(QueryBench& bench, NodeNumber node, int typo_class) {
  TextList texts = bench.Texts(bench.expansion().Class(node, typo_class).words);
  std::sort(texts.begin(), texts.end());
  return texts;
}

std::vector<TextList> Phrases(QueryBench& bench, NodeNumber node, int typo_class) {
  std::vector<TextList> phrases;
  for (const Phrase& phrase : bench.expansion().Class(node, typo_class).phrases)
    phrases.push_back(bench.Texts(phrase.words));
  return phrases;
}

TEST(TermExpansion, WordAsTyped) {
  QueryBench bench({R"({"id":0,"title":"sea"})"});
  bench.SetQuery({"sea", "land"});
  EXPECT_EQ(Words(bench, 0, 0), TextList{"sea"});
  EXPECT_EQ(bench.expansion().Of(0).verbatim, bench.Word("sea"));
  EXPECT_TRUE(bench.expansion().Class(0, 0).IsOnly(bench.Word("sea")));
  EXPECT_TRUE(bench.expansion().Class(1, 0).empty());
  EXPECT_EQ(bench.expansion().Of(1).verbatim, kNoWord);
}

TEST(TermExpansion, PhraseOfTheQueryStandsForItself) {
  QueryBench bench({R"({"id":0,"title":"deep sea"})"});
  bench.SetPhrase({"deep", "sea"});
  EXPECT_EQ(Phrases(bench, 0, 0), (std::vector<TextList>{{"deep", "sea"}}));
  EXPECT_TRUE(bench.expansion().Class(0, 1).empty());
  bench.SetPhrase({"deep", "land"});
  EXPECT_TRUE(bench.expansion().Class(0, 0).empty());
}

TEST(TermExpansion, WordsWithTyposByDistance) {
  QueryBench bench({R"({"id":0,"title":"kitchen kitchens kitten mitchen citchens wardrobes"})"},
                   kTypos);
  bench.SetQuery({"kitchen"});
  EXPECT_EQ(Words(bench, 0, 0), TextList{"kitchen"});
  EXPECT_EQ(Words(bench, 0, 1), TextList{"kitchens"});
  EXPECT_TRUE(Words(bench, 0, 2).empty());  // its length allows one
  bench.SetQuery({"wardrobse"});            // swapping two characters is one typo
  EXPECT_EQ(Words(bench, 0, 1), TextList{"wardrobes"});
  bench.SetQuery({"wardxobez"});
  EXPECT_TRUE(Words(bench, 0, 0).empty());
  EXPECT_TRUE(Words(bench, 0, 1).empty());
  EXPECT_EQ(Words(bench, 0, 2), TextList{"wardrobes"});
}

// A different first character counts as two typos.
TEST(TermExpansion, FirstCharacterCountsTwice) {
  QueryBench bench({R"({"id":0,"title":"wardrobes"})"}, kTypos);
  bench.SetQuery({"bardrobes"});
  EXPECT_TRUE(Words(bench, 0, 1).empty());
  EXPECT_EQ(Words(bench, 0, 2), TextList{"wardrobes"});
}

TEST(TermExpansion, NumbersAllowNoTyposIfDisabled) {
  QueryBench bench({R"({"id":0,"title":"20245 20246"})"}, kTypos);
  bench.SetQuery({"20245"});
  EXPECT_EQ(Words(bench, 0, 1), TextList{"20246"});
  bench.scope().exact_numbers = true;
  bench.Put({R"({"id":1})"});  // cached expansions belong to a snapshot
  bench.SetQuery({"20245"});
  EXPECT_TRUE(Words(bench, 0, 1).empty());
}

TEST(TermExpansion, FewWordsOfAPrefixAreARange) {
  QueryBench bench({R"({"id":0,"title":"sea seal seat set"})"});
  bench.SetQuery({"sea"}, true);
  const Expansions& zero = bench.expansion().Class(0, 0);
  EXPECT_TRUE(zero.has_range);
  EXPECT_EQ(zero.ranges[0].second - zero.ranges[0].first, 3u);
  EXPECT_FALSE(bench.expansion().Of(0).short_prefix);
  EXPECT_EQ(bench.expansion().WordCount(zero), 4u);  // `sea` is a word and in the range
  EXPECT_TRUE(bench.expansion().HasLiveRange(zero));
  bench.SetQuery({"land"}, true);
  EXPECT_FALSE(bench.expansion().HasLiveRange(bench.expansion().Class(0, 0)));
}

// `count` documents of one word each: `stem` and four digits.
std::vector<std::string> ManyWords(const std::string& stem, int count) {
  std::vector<std::string> documents;
  for (int n = 0; n < count; ++n) {
    const std::string digits = std::to_string(10000 + n).substr(1);
    documents.push_back(R"({"id":0,"title":")" + stem + digits + R"("})");
  }
  return documents;
}

TEST(TermExpansion, LongPrefixCountsTheFirstThousandWords) {
  QueryBench bench(ManyWords("prefix", kPrefixWordsMax + 10));
  bench.Put({R"({"id":0,"title":"prefix0500 prefix0005a"})"});
  bench.SetQuery({"prefix"}, true);
  const Expansions& zero = bench.expansion().Class(0, 0);
  // The thousand of both segments: 999 of the first.
  EXPECT_EQ(zero.ranges[0].second - zero.ranges[0].first, kPrefixWordsMax - 1);
  EXPECT_EQ(zero.ranges[1].second - zero.ranges[1].first, 2u);
  EXPECT_FALSE(bench.expansion().Of(0).short_prefix);
}

TEST(TermExpansion, ShortPrefixWithAHundredWordsHasAllOfThem) {
  QueryBench bench(ManyWords("pre", kPrefixWordsMax + 10));
  bench.SetQuery({"pre"}, true);
  const Expansions& zero = bench.expansion().Class(0, 0);
  EXPECT_TRUE(bench.expansion().Of(0).short_prefix);
  EXPECT_EQ(zero.ranges[0].second - zero.ranges[0].first, kPrefixWordsMax + 10);
}

TEST(TermExpansion, DeadWordsDoNotMakeAShortPrefix) {
  QueryBench bench(ManyWords("pre", 100));
  bench.SetQuery({"pre"}, true);
  bench.expansion().Class(0, 0);
  EXPECT_TRUE(bench.expansion().Of(0).short_prefix);
  bench.Delete({7});
  bench.SetQuery({"pre"}, true);
  bench.expansion().Class(0, 0);
  EXPECT_FALSE(bench.expansion().Of(0).short_prefix);
}

TEST(TermExpansion, SynonymsOfWordsAndOfConcatenatedWords) {
  QueryBench bench({R"({"id":0,"title":"ocean big apple"})"},
                   R"({"synonyms":{"sea":["ocean","lake"],"new york":["big apple"]}})");
  bench.SetQuery({"sea"});
  EXPECT_EQ(Phrases(bench, 0, 0), (std::vector<TextList>{{"ocean"}}));  // the index lacks `lake`
  bench.SetQuery({"new", "york"});
  EXPECT_EQ(Phrases(bench, bench.NodeOf("newyork"), 0), (std::vector<TextList>{{"big", "apple"}}));
}

TEST(TermExpansion, WordIsSplitForTheLargestNumberOfDocuments) {
  QueryBench bench({R"({"id":0,"title":"the rapist"})", R"({"id":1,"title":"thera pist"})",
                    R"({"id":2,"title":"thera pist"})", R"({"id":3,"title":"rapist the"})"});
  bench.SetQuery({"therapist"});
  EXPECT_EQ(Phrases(bench, 0, 1), (std::vector<TextList>{{"thera", "pist"}}));
  EXPECT_TRUE(bench.expansion().Of(0).split_known);
  // Again, from the cache.
  bench.SetQuery({"therapist"});
  EXPECT_EQ(Phrases(bench, 0, 1), (std::vector<TextList>{{"thera", "pist"}}));
}

TEST(TermExpansion, EqualSplitsGoToTheEarliest) {
  QueryBench bench({R"({"id":0,"title":"thera pist"})", R"({"id":1,"title":"the rapist"})"});
  bench.SetQuery({"therapist"});
  EXPECT_EQ(Phrases(bench, 0, 1), (std::vector<TextList>{{"the", "rapist"}}));
}

TEST(TermExpansion, GluedWordsAreNotSplitIntoThemselves) {
  QueryBench bench({R"({"id":0,"title":"sun flower"})", R"({"id":1,"title":"sunf lower"})"});
  bench.Put({R"({"id":2,"title":"sun flower"})"});
  bench.SetQuery({"sun", "flower"});
  EXPECT_TRUE(Phrases(bench, bench.NodeOf("sunflower"), 1).empty());
  bench.SetQuery({"sunflower"});
  EXPECT_EQ(Phrases(bench, 0, 1), (std::vector<TextList>{{"sun", "flower"}}));
}

TEST(TermExpansion, OmitsSplitsThatNoRequestedDocumentContains) {
  QueryBench bench({R"({"id":0,"title":"sun flower"})", R"({"id":1,"title":"sun and flower"})"});
  bench.SetQuery({"sunflower"});
  TermExpansion& expansion = bench.expansion();
  EXPECT_TRUE(expansion.ClassUnsplit(0, 1).phrases.empty());
  EXPECT_TRUE(expansion.ClassWithin(0, 1, DocSetOf({1})).phrases.empty());
  EXPECT_FALSE(expansion.Of(0).split_known);
  EXPECT_EQ(expansion.ClassWithin(0, 1, DocSetOf({0, 1})).phrases.size(), 1u);
  EXPECT_TRUE(expansion.Of(0).split_known);
}

TEST(TermExpansion, StepSaysWhichWordsAndPhrasesCount) {
  QueryBench bench({R"({"id":0,"title":"kitchen kitchens ocean kit chen"})"},
                   R"({"synonyms":{"kitchen":["ocean"]}})");
  bench.SetQuery({"kitchen"});
  TermExpansion& expansion = bench.expansion();
  for (int typo_class = 0; typo_class < kClasses; ++typo_class) expansion.Class(0, typo_class);
  const auto counts = [&](const Step& step) {
    size_t words = 0, phrases = 0;
    expansion.ForEachRange(step, 0, [&](Ordinal begin, Ordinal end) { words += end - begin; });
    expansion.ForEachPhrase(step, [&](const Phrase&) { ++phrases; });
    return std::pair(words, phrases);
  };
  EXPECT_EQ(counts({0, -1, false}), (std::pair<size_t, size_t>{2, 2}));
  EXPECT_EQ(counts({0, 0, false}), (std::pair<size_t, size_t>{1, 1}));
  EXPECT_EQ(counts({0, 1, false}), (std::pair<size_t, size_t>{1, 1}));
  EXPECT_EQ(counts({0, 0, true}), (std::pair<size_t, size_t>{1, 0}));
}

}  // namespace
}  // namespace gannet::search
