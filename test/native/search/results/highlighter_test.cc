#include "search/results/highlighter.h"

#include <gtest/gtest.h>

#include <random>

#include "base/json.h"
#include "base/utf8.h"
#include "search/results/naive_highlighter.h"
#include "search/results/sample.h"

namespace gannet::search {
namespace {

using Names = std::optional<std::vector<std::string>>;

uint32_t CountChars(std::string_view text) {
  return static_cast<uint32_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

// Terms in a short notation, separated by spaces, at query positions 0, 1, ...:
//   word                     a word
//   word*                    a prefix
//   query>word, query>word*  an expansion of another query word
//   a+b                      a phrase, in which `_` is a stop word
//   =term                    a term at the position of the previous term
MatchTerms Terms(std::string_view text) {
  MatchTerms terms;
  uint16_t next = 0, last = 0;
  while (!text.empty()) {
    std::string_view term = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), term.size() + 1));
    const bool same = term.starts_with('=');
    if (same) term.remove_prefix(1);
    const uint16_t position = same ? last : next;
    last = position;
    if (term.find('+') != term.npos) {
      MatchPhrase phrase{{}, position};
      for (size_t at = 0; at <= term.size();) {
        const size_t end = std::min(term.find('+', at), term.size());
        const std::string word(term.substr(at, end - at));
        phrase.words.push_back(word == "_" ? std::nullopt : std::optional(word));
        at = end + 1;
      }
      next = static_cast<uint16_t>(std::max<size_t>(next, position + phrase.words.size()));
      terms.phrases.push_back(std::move(phrase));
      continue;
    }
    MatchWord word;
    word.prefix = term.ends_with('*');
    if (word.prefix) term.remove_suffix(1);
    const size_t arrow = term.find('>');
    word.query_chars = CountChars(term.substr(0, arrow));
    word.word = arrow == term.npos ? term : term.substr(arrow + 1);
    word.first_position = word.last_position = position;
    next = std::max<uint16_t>(next, position + 1);
    terms.words.push_back(std::move(word));
  }
  return terms;
}

std::string Append(const Sample& sample, size_t row, const MatchTerms& terms,
                   HighlightOptions options, Names retrieve = Names{std::vector<std::string>{}},
                   std::vector<text::Locale> locales = {}) {
  Highlighter highlighter(sample.snapshot(), terms, std::move(options), retrieve,
                          std::move(locales));
  std::string out = "{";
  bool first = true;
  highlighter.Append(sample.row(row), first, out);
  EXPECT_EQ(first, !highlighter.active());
  return out + "}";
}

Sample TextSample(std::string_view text) {
  std::string documents = "[{\"t\":";
  AppendJsonString(documents, text);
  return Sample(documents + "}]");
}

HighlightOptions Marks() {
  HighlightOptions options;
  options.crop_length = 10;
  options.crop_marker = "…";
  options.pre_tag = "<em>";
  options.post_tag = "</em>";
  return options;
}

HighlightOptions Highlight(std::vector<std::string> names) {
  HighlightOptions options = Marks();
  options.highlight = std::move(names);
  return options;
}

HighlightOptions Crop(std::vector<std::string> names, uint32_t length = 10) {
  HighlightOptions options = Marks();
  options.crop = std::move(names);
  options.crop_length = length;
  return options;
}

HighlightOptions MatchPositions() {
  HighlightOptions options;
  options.matches_position = true;
  return options;
}

// One text, highlighted, and cropped if there is a length.
std::string FormatText(std::string_view text, std::string_view terms,
                       std::optional<uint32_t> length = {}) {
  HighlightOptions options = Highlight({"t"});
  if (length) {
    options.crop = {"t"};
    options.crop_length = *length;
  }
  const std::string out = Append(TextSample(text), 0, Terms(terms), options);
  const std::string begin = R"({"_formatted":{"t":")", end = R"("}})";
  EXPECT_TRUE(out.starts_with(begin) && out.ends_with(end)) << out;
  return out.substr(begin.size(), out.size() - begin.size() - end.size());
}

std::string WithoutTags(std::string text) {
  for (const std::string_view tag : {"<em>", "</em>"}) {
    for (size_t at = text.find(tag); at != text.npos; at = text.find(tag))
      text.erase(at, tag.size());
  }
  return text;
}

TEST(HighlighterTest, MatchesAreHighlighted) {
  const struct {
    const char *terms, *text, *want;
  } kCases[] = {
      {"westfali*", "Westfália", "<em>Westfáli</em>a"},
      {"world*", "Ŵôřlḑôle", "<em>Ŵôřlḑ</em>ôle"},
      {"the+world", "to split the world between", "to split <em>the world</em> between"},
      {"the t+he door do+or", "the do or die can't be he do and or isn't he",
       "<em>the</em> <em>do or</em> die can't be he do and or isn'<em>t he</em>"},
      {"the do or", "the do or", "<em>the</em> <em>do</em> <em>or</em>"},
      {"silver+lake", "silver: lake, Silver, lake", "<em>silver: lake</em>, <em>Silver, lake</em>"},
      {"world+s finest", "The world’s finest", "The <em>world’s</em> <em>finest</em>"},
      {"genveois>genevois* =genveois>genevoise*", "Ĝéñèvôise genevois genevoises",
       "<em>Ĝéñèvôis</em>e <em>genevois</em> <em>genevois</em>es"},
      {"chocolate>chocolat", "Chocolat viennois", "<em>Chocolat</em> viennois"},
      {"cafes* =cafes>cafe*", "café cafés", "<em>café</em> <em>cafés</em>"},
      {"oeuvre art*", "Œuvre d’art: <b>café</b>", "<em>Œuvre</em> d’<em>art</em>: <b>café</b>"},
      {"æ>ae*", "æther aether", "<em>æ</em>ther <em>a</em>ether"},
      {"cat*", "dog", "dog"},
      {"cat", "cats", "cats"},
      {"", "cats", "cats"},
      {"cat", "", ""},
  };
  for (const auto& test : kCases)
    EXPECT_EQ(FormatText(test.text, test.terms), test.want) << test.terms;
}

TEST(HighlighterTest, TermsAreTriedInOrderAndPhrasesBeforeWords) {
  EXPECT_EQ(FormatText("network", "net* network"), "<em>net</em>work");
  EXPECT_EQ(FormatText("network", "network net*"), "<em>network</em>");
  EXPECT_EQ(FormatText("network", "netw* =net*"), "<em>netw</em>ork");
  EXPECT_EQ(FormatText("big red dog", "red red+dog big+red"), "<em>big red</em> dog");
  EXPECT_EQ(FormatText("big red", "big red+dog big+red+dog"), "<em>big</em> red");
}

TEST(HighlighterTest, PhrasesWithStopWordsAreNotMarked) {
  const Sample sample(R"([{"t":"Over the hills and far away"}])", R"({"stopWords":["and"]})");
  EXPECT_EQ(Append(sample, 0, Terms("hills+_+far"), Highlight({"t"})),
            R"({"_formatted":{"t":"Over the hills and far away"}})");
  EXPECT_EQ(Append(sample, 0, Terms("and"), Highlight({"t"})),
            R"({"_formatted":{"t":"Over the hills <em>and</em> far away"}})");
}

TEST(HighlighterTest, TextsAreCroppedAroundTheirMatches) {
  const char* const kHarbour =
      "The harbour master counted twelve boats at dawn, wrote the number in a blue notebook, and "
      "walked home. Nobody "
      "saw the thirteenth boat slip out of the harbour that night.";
  const char* const kNumbers =
      "(One) two; three, four. Five-six seven? Eight nine ten eleven twelve thirteen!";
  const char* const kPower =
      "The groundbreaking invention had the power to split the world between those who embraced "
      "progress and "
      "those who feared change.";
  const struct {
    const char* terms;
    const char* text;
    uint32_t length;
    const char* want;
  } kCases[] = {
      {"split the world*", "A quick brown fox can not jump 32 feet, right? Brr, it is cold!", 10,
       "A quick brown fox can not jump 32 feet, right…"},
      {"split the world*", "(A quick brown fox can not jump 32 feet, right? Brr, it is cold!)", 10,
       "(A quick brown fox can not jump 32 feet, right…"},
      {"split the world*",
       "Natalie risk her future. Split The World is a book written by Emily Henry. I never read "
       "it.",
       10, "…Split The World is a book written by Emily Henry…"},
      {"split the world*", "Natalie risk her future to build a world with the boy she loves.", 10,
       "…future to build a world with the boy she loves…"},
      {"split the world*",
       "Natalie risk her future to build a world with the boy she loves. Emily Henry: The Love "
       "That Split The World.",
       10, "…she loves. Emily Henry: The Love That Split The World."},
      {"split the world*", "void void split the world void void.", 2, "…split the…"},
      {"split the world*", "void void split the world void void.", 1, "…split…"},
      {"split the world*", "void void split the world void void.", 0,
       "void void split the world void void."},
      {"split the world*", ":-)", 10, ":-)"},
      {"prince*", "Le Petit Prince", 2, "…Petit Prince"},
      {"groundbreaking+invention had+the+power+to+split+the+world+between+those", kPower, 10,
       "…invention had the power to split the world between those…"},
      {"harbour*", kHarbour, 10, "The harbour master counted twelve boats at dawn, wrote the…"},
      {"thirteenth*", kHarbour, 10, "…Nobody saw the thirteenth boat slip out of the harbour…"},
      {"boat harbour*", kHarbour, 10, "…the thirteenth boat slip out of the harbour that night…"},
      {"master notebook*", kHarbour, 10,
       "The harbour master counted twelve boats at dawn, wrote the…"},
      {"harbour*", kHarbour, 5, "The harbour master counted twelve…"},
      {"harbour*", kHarbour, 1, "…harbour…"},
      {"harbour*", kHarbour, 0, kHarbour},
      {"harbour*", kHarbour, 500, kHarbour},
      {"harbour*",
       "a much longer note about the old harbour and the boats that sleep there in winter", 4,
       "…the old harbour and…"},
      {"boats*", kHarbour, 3, "…twelve boats at…"},
      {"notebook home*", kHarbour, 4, "…notebook, and walked home…"},
      {"blue+notebook and", kHarbour, 2, "…blue notebook…"},
      {"", kHarbour, 6, "The harbour master counted twelve boats…"},
      {"lighthouse*", "Lighthouse", 1, "Lighthouse"},
      {"five*", kNumbers, 3, "…Five-six seven…"},
      {"three*", kNumbers, 2, "…two; three…"},
      {"one*", kNumbers, 2, "(One) two…"},
      {"thirteen*", kNumbers, 3, "…eleven twelve thirteen…"},
      {"seven eight*", kNumbers, 4, "…six seven? Eight nine…"},
      {"zip+files", "Support the reading and writing of zip files - Rust source code", 3,
       "…of zip files…"},
      {"zip+files", "Archiver for .zip files", 3, "…for .zip files"},
      {"onion cream*",
       "Melt the onion slowly in butter, mix with cream and egg, bake on a short crust.", 6,
       "Melt the onion slowly in butter…"},
      {"onion*",
       "Press the dough into boiling water, layer with cheese, crown with fried onion rings.", 6,
       "…cheese, crown with fried onion rings."},
      // A phrase longer than the window shows its first words and all the text before it.
      {"to+be+written+in", "Enables PAM modules to be written in Python", 3,
       "Enables PAM modules to be written…"},
      {"flexible+gradient+boosting+executable",
       "Scalable and Flexible Gradient Boosting (Executable)", 3,
       "Scalable and Flexible Gradient Boosting …"},
      {"rspec+tests+for+your", "RSpec tests for your Puppet manifests", 3, "RSpec tests for…"},
  };
  for (const auto& test : kCases) {
    EXPECT_EQ(WithoutTags(FormatText(test.text, test.terms, test.length)), test.want) << test.terms;
  }
}

TEST(HighlighterTest, HighlightsTheVisiblePartOfMatchesAtTheEdge) {
  EXPECT_EQ(
      FormatText("The groundbreaking invention had the power to split the world between those who "
                 "embraced it",
                 "groundbreaking+invention had+the+power+to+split+the+world+between+those", 10),
      "…<em>invention</em> <em>had the power to split the world between those</em>…");
  EXPECT_EQ(FormatText("Enables PAM modules to be written in Python", "to+be+written+in", 3),
            "Enables PAM modules <em>to be written</em>…");
  EXPECT_EQ(FormatText("Le Petit Prince", "prince*", 2), "…Petit <em>Prince</em>");
}

const char* const kCafe =
    R"([{"id":852,"name":"Café Liégeois","price":4.5,"stock":12,"tags":["cafe","ice cream","Café crème"],"origin":{"city":"Liège","roasted":{"year":1999,"by":["Café Charbon",null,true]}},"note":"x"},{"id":13,"name":"Chocolat","origin":null,"tags":[]}])";

TEST(HighlighterTest, FormattedHoldsWhatIsRetrievedOrFormattedAndNumbersAsText) {
  const Sample sample(kCafe);
  const MatchTerms cafe = Terms("cafe*");
  EXPECT_EQ(
      Append(sample, 0, cafe, Highlight({"*"}), std::nullopt),
      R"({"_formatted":{"id":"852","name":"<em>Café</em> Liégeois","price":"4.5","stock":"12","tags":["<em>cafe</em>","ice cream","<em>Café</em> crème"],"origin":{"city":"Liège","roasted":{"year":"1999","by":["<em>Café</em> Charbon",null,true]}},"note":"x"}})");
  EXPECT_EQ(
      Append(sample, 0, cafe, Highlight({"name"}), Names{{"id", "tags"}}),
      R"({"_formatted":{"id":"852","name":"<em>Café</em> Liégeois","tags":["cafe","ice cream","Café crème"]}})");
  EXPECT_EQ(
      Append(sample, 0, cafe, Highlight({"origin"}), Names{{"name"}}),
      R"({"_formatted":{"name":"Café Liégeois","origin":{"city":"Liège","roasted":{"year":"1999","by":["<em>Café</em> Charbon",null,true]}}}})");
  EXPECT_EQ(
      Append(sample, 0, cafe, Highlight({"origin.roasted.by"}), Names{{"id"}}),
      R"({"_formatted":{"id":"852","origin":{"roasted":{"by":["<em>Café</em> Charbon",null,true]}}}})");
  EXPECT_EQ(Append(sample, 0, Terms("4 5*"), Highlight({"price"})),
            R"({"_formatted":{"price":"<em>4</em>.<em>5</em>"}})");
  // A document without the field still has the member.
  EXPECT_EQ(Append(sample, 1, cafe, Highlight({"note"})), R"({"_formatted":{}})");
  EXPECT_EQ(Append(sample, 1, MatchTerms(), Highlight({"*"}), std::nullopt),
            R"({"_formatted":{"id":"13","name":"Chocolat","tags":[],"origin":null}})");
}

TEST(HighlighterTest, FormattedIsAbsentIfNoDisplayedFieldIsRequested) {
  const MatchTerms cafe = Terms("cafe*");
  const Sample sample(kCafe);
  for (const HighlightOptions& options :
       {HighlightOptions(), Highlight({}), Highlight({"unknown"}), Crop({}), Crop({"unknown:3"})}) {
    EXPECT_EQ(Append(sample, 0, cafe, options, std::nullopt), "{}");
  }
  const Sample hidden(kCafe, R"({"displayedAttributes":["name","tags"]})");
  EXPECT_EQ(Append(hidden, 0, cafe, Highlight({"note"}), std::nullopt), "{}");
  EXPECT_EQ(
      Append(hidden, 0, cafe, Highlight({"*"}), std::nullopt),
      R"({"_formatted":{"name":"<em>Café</em> Liégeois","tags":["<em>cafe</em>","ice cream","<em>Café</em> crème"]}})");
  EXPECT_EQ(Append(hidden, 0, cafe, Highlight({"note", "name"}), Names{{"id"}}),
            R"({"_formatted":{"name":"<em>Café</em> Liégeois"}})");
}

TEST(HighlighterTest, KeysWithDotsAreBelowWhatTheyBeginWith) {
  const MatchTerms cafe = Terms("cafe*");
  const Sample sample(R"([{"o.p":"Café one two","o":{"q":"café"},"x.y":"café"}])",
                      R"({"displayedAttributes":["o","x"]})");
  EXPECT_EQ(
      Append(sample, 0, cafe, Highlight({"*"}), std::nullopt),
      R"({"_formatted":{"o.p":"<em>Café</em> one two","o":{"q":"<em>café</em>"},"x.y":"<em>café</em>"}})");
  EXPECT_EQ(
      Append(sample, 0, cafe, Highlight({"o"}), std::nullopt),
      R"({"_formatted":{"o.p":"<em>Café</em> one two","o":{"q":"<em>café</em>"},"x.y":"café"}})");
  EXPECT_EQ(Append(sample, 0, cafe, Crop({"*:2"}), std::nullopt),
            R"({"_formatted":{"o.p":"Café one…","o":{"q":"café"},"x.y":"café"}})");
  EXPECT_EQ(
      Append(sample, 0, cafe, MatchPositions(), std::nullopt),
      R"({"_matchesPosition":{"o.p":[{"start":0,"length":5}],"o.q":[{"start":0,"length":5}],"x.y":[{"start":0,"length":5}]}})");
}

TEST(HighlighterTest, CropItemsMayCarryALength) {
  const Sample sample(
      R"([{"id":1,"text":"one two three four five","list":["six seven eight","nine"],"o":{"p":"a b c d"}}])");
  const auto crop = [&](std::vector<std::string> names) {
    return Append(sample, 0, MatchTerms(), Crop(names, 4));
  };
  EXPECT_EQ(crop({"text"}), R"({"_formatted":{"text":"one two three four…"}})");
  EXPECT_EQ(crop({"text:3", "list:2"}),
            R"({"_formatted":{"text":"one two three…","list":["six seven…","nine"]}})");
  EXPECT_EQ(crop({"text:many"}), R"({"_formatted":{"text":"one two three four…"}})");
  EXPECT_EQ(crop({"text:"}), R"({"_formatted":{"text":"one two three four…"}})");
  EXPECT_EQ(crop({"text:99999999999999999999"}),
            R"({"_formatted":{"text":"one two three four five"}})");
  EXPECT_EQ(crop({"text:2", "text:3"}), R"({"_formatted":{"text":"one two three…"}})");
  EXPECT_EQ(
      crop({"*:2"}),
      R"({"_formatted":{"id":"1","text":"one two…","list":["six seven…","nine"],"o":{"p":"a b…"}}})");
  EXPECT_EQ(
      crop({"*:2", "text:1"}),
      R"({"_formatted":{"id":"1","text":"one…","list":["six seven…","nine"],"o":{"p":"a b…"}}})");
  EXPECT_EQ(
      crop({"text:1", "*:2"}),
      R"({"_formatted":{"id":"1","text":"one two…","list":["six seven…","nine"],"o":{"p":"a b…"}}})");
  // The parent's field comes first.
  EXPECT_EQ(crop({"o.p:1", "o:3"}), R"({"_formatted":{"o":{"p":"a b c…"}}})");
  EXPECT_EQ(crop({"o.p:1"}), R"({"_formatted":{"o":{"p":"a…"}}})");
}

TEST(HighlighterTest, TagsAndMarkersAreFreeTextAndTextIsNotEscapedButAsJson) {
  const Sample sample(R"([{"t":"say \"h\u00e9llo\"\nto all of them"}])");
  HighlightOptions options = Highlight({"t"});
  options.pre_tag = "<mark class=\"x\">";
  options.post_tag = "";
  EXPECT_EQ(
      Append(sample, 0, Terms("hello*"), options),
      "{\"_formatted\":{\"t\":\"say \\\"<mark class=\\\"x\\\">héllo\\\"\\nto all of them\"}}");
  options = Crop({"t:2"});
  options.crop_marker = " [\\] ";
  EXPECT_EQ(Append(sample, 0, Terms("to all*"), options),
            R"({"_formatted":{"t":" [\\] to all [\\] "}})");
  options.crop_marker = "";
  EXPECT_EQ(Append(sample, 0, Terms("to all*"), options), R"({"_formatted":{"t":"to all"}})");
}

const char* const kEclair =
    R"([{"id":1,"name":"Éclair au café, café éclair","tags":["café",["noir","café au lait"],{"kind":"café glacé"}],"origin":{"city":"Saint-Étienne","notes":["un café",["deux cafés",["trois cafés"]]]},"year":1850,"batch":[12,34,12]},{"id":2,"name":"The world’s finest"}])";

TEST(HighlighterTest, PositionsOfMatchesAreBytesOfTheWholeText) {
  const Sample sample(kEclair);
  const struct {
    const char *terms, *want;
  } kCases[] = {
      {"cafe*",
       R"("name":[{"start":11,"length":5},{"start":18,"length":5}],"tags":[{"start":0,"length":5,"indices":[1,1]}],"tags.kind":[{"start":0,"length":5,"indices":[2]}],"origin.notes":[{"start":6,"length":5,"indices":[1,1,0]}])"},
      {"ecl*", R"("name":[{"start":0,"length":4},{"start":24,"length":4}])"},
      {"noir*", R"("tags":[{"start":0,"length":4,"indices":[1,0]}])"},
      {"glace*", R"("tags.kind":[{"start":6,"length":6,"indices":[2]}])"},
      {"saint etienne*", R"("origin.city":[{"start":0,"length":5},{"start":6,"length":8}])"},
      {"saint+etienne", R"("origin.city":[{"start":0,"length":14}])"},
      {"eclair+au+cafe", R"("name":[{"start":0,"length":16}])"},
      {"18*", R"("year":[{"start":0,"length":2}])"},
      {"12", R"("batch":[{"start":0,"length":2,"indices":[2]}])"},
      {"", ""},
      {"zzz", ""},
  };
  for (const auto& test : kCases) {
    const std::string want = "{\"_matchesPosition\":{" + std::string(test.want) + "}}";
    EXPECT_EQ(Append(sample, 0, Terms(test.terms), MatchPositions()), want) << test.terms;
  }
}

TEST(HighlighterTest, PositionsCoverDisplayedAttributesWhateverIsRetrieved) {
  const Sample sample(kEclair, R"({"displayedAttributes":["id","tags","origin.city"]})");
  EXPECT_EQ(
      Append(sample, 0, Terms("cafe saint*"), MatchPositions(), Names{{"id"}}),
      R"({"_matchesPosition":{"tags":[{"start":0,"length":5,"indices":[1,1]}],"tags.kind":[{"start":0,"length":5,"indices":[2]}],"origin.city":[{"start":0,"length":5}]}})");
}

TEST(HighlighterTest, BothMembersAreOfTheWholeTextAndDoNotLeakIntoTheNextDocument) {
  const Sample sample(kEclair);
  HighlightOptions options = Crop({"name:2"});
  options.highlight = {"name"};
  options.matches_position = true;
  Highlighter highlighter(sample.snapshot(), Terms("cafe world*"), options, Names{{"id"}}, {});
  EXPECT_TRUE(highlighter.active());
  std::string out;
  bool first = false;
  highlighter.Append(std::span(sample.row(0)).first(2), first, out);
  EXPECT_EQ(
      out,
      R"(,"_formatted":{"id":"1","name":"…<em>café</em>, <em>café</em>…"},"_matchesPosition":{"name":[{"start":11,"length":5},{"start":18,"length":5}]})");
  out.clear();
  first = true;
  highlighter.Append(sample.row(1), first, out);
  EXPECT_EQ(
      out,
      R"("_formatted":{"id":"2","name":"The <em>world</em>…"},"_matchesPosition":{"name":[{"start":4,"length":5}]})");
}

TEST(HighlighterTest, FlatAndNestedNamesThatReadTheSameShareOneListOfPositions) {
  const Sample sample(R"([{"a":{"b":"x"},"a.b":"y x"}])");
  EXPECT_EQ(Append(sample, 0, Terms("x"), MatchPositions()),
            R"({"_matchesPosition":{"a.b":[{"start":2,"length":1}]}})");
}

TEST(HighlighterTest, LocalesOfTheRequestOrElseOfTheAttributeSteerNormalisation) {
  const Sample sample(
      R"([{"sv":"Ål","en":"Ål"}])",
      R"({"localizedAttributes":[{"attributePatterns":["sv"],"locales":["swe"]}]})");
  EXPECT_EQ(Append(sample, 0, Terms("ål"), Highlight({"*"})),
            R"({"_formatted":{"sv":"<em>Ål</em>","en":"Ål"}})");
  EXPECT_EQ(Append(sample, 0, Terms("al"), Highlight({"*"})),
            R"({"_formatted":{"sv":"Ål","en":"<em>Ål</em>"}})");
  EXPECT_EQ(
      Append(sample, 0, Terms("ål"), Highlight({"*"}), Names{{"en"}}, {*text::ParseLocale("swe")}),
      R"({"_formatted":{"sv":"<em>Ål</em>","en":"<em>Ål</em>"}})");
}

TEST(HighlighterTest, VectorsAreNeitherFormattedNorSearched) {
  const Sample sample(R"([{"id":1,"_vectors":{"m":[12]}}])");
  HighlightOptions options = Highlight({"*"});
  options.matches_position = true;
  EXPECT_EQ(Append(sample, 0, Terms("12"), options, std::nullopt),
            R"({"_formatted":{"id":"1"},"_matchesPosition":{}})");
}

TEST(HighlighterTest, RandomTextsAreFormattedAsByTheReferenceModel) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](size_t n) {
    return std::uniform_int_distribution<size_t>(0, n - 1)(random);
  };
  const std::vector<std::string> kWords = {"a",  "ab", "abc", "äb", "b",  "bä",
                                           "bc", "c",  "ça",  "æ",  "日", "本"};
  const std::vector<std::string> kLemmas = {"a", "ab", "abc", "b",  "ba", "bc",
                                            "c", "ca", "ae",  "日", "本", "zz"};
  const std::vector<std::string> kSeparators = {" ",  " ",  " ",  ", ", ". ", "-",
                                                "; ", " (", ") ", "!",  "\"", "\n"};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (size_t n = below(60); n > 0; --n) {
      if (below(3) > 0) text += kWords[below(kWords.size())];
      text += kSeparators[below(kSeparators.size())];
    }
    MatchTerms terms;
    for (size_t n = below(4); n > 0; --n) {
      MatchPhrase phrase{{}, static_cast<uint16_t>(below(8))};
      for (size_t i = 2 + below(3); i > 0; --i) phrase.words.emplace_back(kLemmas[below(4)]);
      if (below(5) == 0) phrase.words[below(2)].reset();
      terms.phrases.push_back(std::move(phrase));
    }
    for (size_t n = below(7); n > 0; --n) {
      const auto first = static_cast<uint16_t>(below(6));
      terms.words.push_back({kLemmas[below(kLemmas.size())], below(2) == 0,
                             static_cast<uint32_t>(1 + below(4)), first,
                             static_cast<uint16_t>(first + below(2))});
    }
    const auto length = static_cast<uint32_t>(below(below(2) == 0 ? 8 : 30));
    const Sample sample = TextSample(text);
    HighlightOptions options = Highlight({"t"});
    options.crop = {"t"};
    options.crop_length = length;
    const std::string got = Append(sample, 0, terms, options);
    std::string want = R"({"_formatted":{"t":)";
    AppendJsonString(want,
                     NaiveHighlighter(*sample.snapshot().analyzer, terms, text).Format(length));
    ASSERT_EQ(got, want + "}}") << "round " << round << ", length " << length << ", text " << text;
  }
}

}  // namespace
}  // namespace gannet::search
