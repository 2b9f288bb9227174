#include "text/analyzer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "text/ideographs.h"
#include "text/naive_analyzer.h"

namespace gannet::text {
namespace {

std::string Show(TokenKind kind, std::string_view lemma) {
  const char* mark = kind == TokenKind::kSoftSeparator   ? "~"
                     : kind == TokenKind::kHardSeparator ? "!"
                     : kind == TokenKind::kStopWord      ? "#"
                                                         : "";
  return mark + std::string(lemma);
}

// All tokens joined by "|": words bare, soft separators after "~", hard ones after "!", stop words
// after "#".
std::string Tokens(std::string_view text, std::vector<Locale> locales = {},
                   AnalyzerSettings settings = {}) {
  TokenBuffer buffer;
  Analyzer(std::move(settings)).Tokenize(text, locales, buffer);
  std::string shown;
  for (const Token& token : buffer.tokens) {
    if (!shown.empty()) shown += '|';
    shown += Show(token.kind, buffer.lemma(token));
  }
  return shown;
}

// The original text of the words and stop words, joined by "|".
std::string Segments(std::string_view text, AnalyzerSettings settings = {}) {
  TokenBuffer buffer;
  Analyzer(std::move(settings)).Tokenize(text, {}, buffer);
  std::string shown;
  for (const Token& token : buffer.tokens) {
    if (token.kind > TokenKind::kStopWord) continue;
    if (!shown.empty()) shown += '|';
    shown += text.substr(token.begin, token.end - token.begin);
  }
  return shown;
}

// "word@position ..." and the position of the last one.
std::string Positions(const Analyzer& analyzer, std::string_view text, uint32_t first = 0) {
  TokenBuffer scratch;
  std::string shown;
  const auto last =
      analyzer.Words(text, {}, first, scratch, [&](std::string_view lemma, uint32_t at) {
        shown += std::string(lemma) + "@" + std::to_string(at) + " ";
      });
  return shown + (last ? "last " + std::to_string(*last) : "none");
}

struct Case {
  const char* text;
  const char* tokens;
};

TEST(AnalyzerTest, CutsAndNormalisesLatinText) {
  const Case cases[] = {
      {"The quick (\"brown\") fox can’t jump 32.3 feet, right? Brr, it's 29.3°F! camelCase "
       "kebab-case snake_case 123 456",
       "the|~ |quick|~ |~(|~\"|brown|~\"|~)|~ |fox|~ |can|~'|t|~ |jump|~ |32|~.|3|~ |feet|!, "
       "|right|!?|~ |brr|!, |it|~'|s|~ |29|~.|3°f|!!|~ |camelcase|~ |kebab|~-|case|~ |snake|~_|"
       "case|~ |123|~ |456"},
      {"Élève ŒUVRE straße", "eleve|~ |oeuvre|~ |straße"},
      {"e\u0301le\u0300ve", "eleve"},
      {"Crème Brûlée Ŵôřlḑ", "creme|~ |brulee|~ |world"},
      {"çalışma şarkı ışık İstanbul", "calisma|~ |sarki|~ |isik|~ |istanbul"},
      {"Đại Việt", "dai|~ |viet"},
      {"Łódź Þór fjörð", "łodz|~ |þor|~ |fjord"},
      {"ﬁligree №5 x²", "filigree|~ |no5|~ |x2"},
      {"½ ＡＢＣ ℃", "1⁄2|~ |abc|~ |°c"},
      {"a=b $5.00 x|y 50% R&D C++ C# v1.2",
       "a=b|~ |$5|~.|00|~ |x|y|~ |50|~%|~ |r|~&|d|~ |c|~+|~+|~ |c|~#|~ |v1|~.|2"},
      {"https://a.org/x?y=1", "https|~:|~/|~/|a|~.|org|~/|x|!?|y=1"},
      {"10\u00a0km", "10 km"},
      {"a\u00a0 b", "a|~ |b"},
      {"a \u00a0 b", "a|~ |~ |~ |b"},
      {"wait… what≠", "wait|...|~ |what|="},
      {"DeLonghi TestAB", "delonghi|~ |testab"},
      {"a\x01"
       "b",
       "ab"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Tokens(c.text), c.tokens) << c.text;
  }
}

TEST(AnalyzerTest, DistinguishesSoftAndHardSeparators) {
  const Case cases[] = {
      {" ", "~ "},   {"@", "~@"},       {".", "~."},      {". ", "!. "}, {"。", "!。"},
      {"-", "~-"},   {"_", "~_"},       {"!", "!!"},      {";", "!;"},   {":", "~:"},
      {"\n", "~\n"}, {".\n", "~.|~\n"}, {",", "~,"},      {", ", "!, "}, {"！", "!!"},
      {"？", "!?"},  {"；", "!;"},      {"，", "~,"},     {"．", "~."},  {"：", "~:"},
      {"、", "!、"}, {"。", "!。"},     {"｡", "!。"},     {"､", "!、"},  {"﹐", "~,"},
      {"﹗", "!!"},  {"។ល។", "!។ល។"},   {"\u3000", "~ "}, {"¿", "!¿"},
  };
  for (const Case& c : cases) EXPECT_EQ(Tokens(c.text), c.tokens) << c.text;
  EXPECT_EQ(Tokens(std::string_view("a\0b", 3)), std::string("a|!\0|b", 6));
}

TEST(AnalyzerTest, HasTheSeparatorListsOfTheContract) {
  size_t all = 0, hard_characters = 0;
  for (char32_t c = 0; c < 0x110000; ++c) {
    const CharSeparator separator = CharInfo(c).separator();
    all += separator != CharSeparator::kNone;
    std::string character;
    AppendUtf8(character, c);
    hard_characters += separator == CharSeparator::kHard && Nfkd(character) == character;
  }
  EXPECT_EQ(all, 1049u);
  EXPECT_EQ(hard_characters, 329u);
}

TEST(AnalyzerTest, NormalisesOtherScripts) {
  const Case cases[] = {
      {"Αγαπητός ΣΟΦΟΣ λόγος", "αγαπητοσ|~ |σοφοσ|~ |λογοσ"},
      {"כָּבוֹד שָׁלוֹם", "כבוד|~ |שלום"},
      {"ՀայասՏան", "հայաստան"},
      {"Ёлки", "е\u0308лки"},
      {"أتمنى", "اتمني"},
      {"ٱلأحوال", "ال|احوال"},
      {"النهاردة", "ال|نهارده"},
      {"الحمــــــد", "ال|حمد"},
      {"مُحَمَّد أحمد مكتبة", "محمد|~ |احمد|~ |مكتبه"},
      {"السلام عليكم، كيف حالكم؟", "ال|سلام|~ |عليكم|!،|~ |كيف|~ |حالكم|!؟"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Tokens(c.text), c.tokens) << c.text;
  }
}

TEST(AnalyzerTest, FollowsTheLocale) {
  EXPECT_EQ(Tokens("öpÅscålcäsÄÖs", {Locale::kSwe}), "öpåscålcäsäös");
  EXPECT_EQ(Tokens("A\u030al", {Locale::kSwe}), "ål");
  EXPECT_EQ(Tokens("Ål", {Locale::kEng}), "al");
  EXPECT_EQ(Tokens("Ål", {Locale::kSwe, Locale::kDeu}), "ål");
  EXPECT_EQ(Tokens("Größe", {Locale::kSwe, Locale::kDeu}), "große");
  EXPECT_EQ(Tokens("كتاب ۱۲۳", {Locale::kPes}), "کتاب|~ |123");
  EXPECT_EQ(Tokens("كتاب", {Locale::kAra}), "كتاب");
  EXPECT_EQ(Tokens("الكتاب", {Locale::kUrd}), "الكتاب");
  EXPECT_EQ(Tokens("ダメ", {Locale::kZho}), "た\u3099|め");
}

TEST(AnalyzerTest, BringsVariantsOfIdeographsToOneForm) {
  const Case cases[] = {
      {"基础 选举", "基|礎|~ |選|舉"},
      {"恶作剧", "惡|作|劇"},
      {"真正眞正", "眞|正|眞|正"},
      {"为為爲", "爲|爲|爲"},
      {"国國", "國|國"},
      {"台臺", "臺|臺"},
      {"舉举", "舉|舉"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(Tokens(c.text), c.tokens) << c.text;
    EXPECT_EQ(Tokens(c.text, {Locale::kZho}), c.tokens) << c.text;
    EXPECT_EQ(Tokens(c.text, {Locale::kEng, Locale::kCmn}), c.tokens) << c.text;
  }
  EXPECT_EQ(Tokens("国のアニメ"), "國|の|あ|に|め");
  for (const Locale locale : {Locale::kCmn, Locale::kJpn, Locale::kEng}) {
    EXPECT_EQ(Tokens("国のアニメ", {locale}), "國|の|あ|に|め");
  }
}

TEST(IdeographsTest, HaveFormsThatStayAsTheyAre) {
  size_t variants = 0;
  for (char32_t c = 0; c < 0x110000; ++c) {
    const char32_t form = IdeographForm(c);
    variants += form != c;
    ASSERT_EQ(IdeographForm(form), form) << static_cast<uint32_t>(c);
    if (form == c) continue;
    ASSERT_EQ(CharInfo(c).script(), Script::kCj) << static_cast<uint32_t>(c);
    ASSERT_EQ(CharInfo(form).script(), Script::kCj) << static_cast<uint32_t>(c);
    ASSERT_FALSE(CharInfo(form).decomposes()) << static_cast<uint32_t>(c);
  }
  EXPECT_GT(variants, 4000u);
}

TEST(IdeographsTest, HaveTheFormsOfTheListOfPairs) {
  constexpr struct {
    char32_t written, form;
  } kPairs[] = {
#include <ideographs.inc>
  };
  std::map<char32_t, char32_t> forms;
  for (const auto& [written, form] : kPairs) forms[written] = form;
  for (char32_t c = 0; c < 0x110000; ++c) {
    const auto found = forms.find(c);
    ASSERT_EQ(IdeographForm(c), found == forms.end() ? c : found->second)
        << static_cast<uint32_t>(c);
  }
}

// The contract's dictionaries cut 人人 or ภาษาไทย as one word; here each character is a word, by
// design.
TEST(AnalyzerTest, MakesAWordOfEachCharacterWhereNoSpacesAreWritten) {
  const Case cases[] = {
      {"人人生而自由", "人|人|生|而|自|由"},
      {"在尊嚴。", "在|尊|嚴|!。"},
      {"我从2025年开始学习Rust语言。", "我|從|2025|年|開|始|學|習|rust|語|言|!。"},
      {"トートバッグ", "と|う|と|は\u3099|っ|く\u3099"},
      {"ダメ駄目だめ", "た\u3099|め|駄|目|た\u3099|め"},
      {"ｶﾞｰ", "か\u3099|あ"},
      {"コーヒー、ー", "こ|う|ひ|い|!、|ー"},
      {"か\u3099", "か\u3099"},
      {"한국", "\u1112\u1161\u11ab|\u1100\u116e\u11a8"},
      {"\u1112\u1161\u11ab\u1100\u116e\u11a8", "\u1112\u1161\u11ab|\u1100\u116e\u11a8"},
      {"ง่ายน้ำ", "ง|า|ย|นา"},
      {"សួស្តី", "សួ|ស្តី"},
      {"𠮷野家", "𠮷|野|家"},
  };
  for (const Case& c : cases) EXPECT_EQ(Tokens(c.text), c.tokens) << c.text;

  TokenBuffer buffer;
  Analyzer().Tokenize("第3回abc", {}, buffer);
  ASSERT_EQ(buffer.tokens.size(), 4u);
  EXPECT_TRUE(buffer.tokens[0].unspaced);
  EXPECT_FALSE(buffer.tokens[1].unspaced);
  EXPECT_TRUE(buffer.tokens[2].unspaced);
  EXPECT_FALSE(buffer.tokens[3].unspaced);
}

TEST(AnalyzerTest, KeepsGermanCompoundsWhole) {
  EXPECT_EQ(Tokens("Feuchteschutz", {Locale::kDeu}), "feuchteschutz");
}

TEST(AnalyzerTest, ObeysSeparatorTokensAndNonSeparatorTokens) {
  EXPECT_EQ(Tokens("Mac&sep&&sepcheese", {},
                   {.separator_tokens = {"<br/>", "&sep"}, .non_separator_tokens = {"#", "&"}}),
            "mac|~&sep|&|~&sep|cheese");
  EXPECT_EQ(Tokens("A# and B", {}, {.non_separator_tokens = {"#"}, .dictionary = {"A#"}}),
            "a#|~ |and|~ |b");
  EXPECT_EQ(Tokens("salt<hr>pepper", {}, {.separator_tokens = {"<hr>"}}), "salt|~<hr>|pepper");
  EXPECT_EQ(Tokens("a|b", {}, {.separator_tokens = {"|"}}), "a|~||b");
  EXPECT_EQ(Tokens("a|b", {}, {.separator_tokens = {"|"}, .non_separator_tokens = {"|"}}), "a|b");
  EXPECT_EQ(Tokens("a, b,c", {}, {.non_separator_tokens = {","}}), "a|!, |b,c");
  EXPECT_EQ(Tokens("a, b", {}, {.non_separator_tokens = {", "}}), "a|~,|~ |b");
  EXPECT_EQ(Tokens("a b ", {}, {.non_separator_tokens = {" "}}), "a b");
  EXPECT_EQ(Tokens("a，b", {}, {.non_separator_tokens = {"，"}}), "a,b");
  EXPECT_EQ(Tokens("-12.3年", {}, {.non_separator_tokens = {"-", "."}}), "-12.3|年");
  EXPECT_EQ(Segments("wind-vane tail_fin", {.non_separator_tokens = {"-", "_"}}),
            "wind-vane|tail_fin");
}

TEST(AnalyzerTest, TakesDictionaryEntriesAsWords) {
  EXPECT_EQ(Segments("J. R. R. Tolkien. J. K. Rowling. Dr. Seuss",
                     {.dictionary = {"J. R. R.", "Dr.", "J. K."}}),
            "J. R. R.|Tolkien|J. K.|Rowling|Dr.|Seuss");
  EXPECT_EQ(Tokens("a catalog", {}, {.dictionary = {"cat"}}), "a|~ |cat|alog");
  EXPECT_EQ(Tokens("H. G. Wells h. g.", {}, {.dictionary = {"H. G."}}),
            "h. g.|~ |wells|~ |h|!. |g|~.");
  EXPECT_EQ(Tokens("東京都", {}, {.dictionary = {"東京"}}), "東京|都");
}

TEST(AnalyzerTest, ComparesStopWordsInDecomposedFormAndOriginalCase) {
  const AnalyzerSettings settings{.stop_words = {"the", "été", "The", "で"}};
  EXPECT_EQ(Tokens("the THE The", {}, settings), "#the|~ |the|~ |#the");
  EXPECT_EQ(Tokens("été e\u0301te\u0301 ete Été", {}, settings), "#ete|~ |#ete|~ |ete|~ |ete");
  EXPECT_EQ(Tokens("車で", {}, settings), "車|#て\u3099");
  EXPECT_EQ(Tokens("-a", {}, {.stop_words = {"-"}}), "#-|a");
}

TEST(AnalyzerTest, GivesPositionsToWords) {
  const Analyzer plain;
  EXPECT_EQ(Positions(plain, "The quick, brown fox"), "the@0 quick@1 brown@9 fox@10 last 10");
  EXPECT_EQ(Positions(plain, "jumps. Over", 18), "jumps@18 over@26 last 26");
  EXPECT_EQ(Positions(plain, "!? a; ! b"), "a@0 b@8 last 8");
  EXPECT_EQ(Positions(plain, "a,b.c"), "a@0 b@1 c@2 last 2");
  EXPECT_EQ(Positions(plain, " ,. "), "none");
  EXPECT_EQ(Positions(plain, ""), "none");
  EXPECT_EQ(Positions(plain, "é, b"), "e@0 b@8 last 8");
  EXPECT_EQ(Positions(plain, "日本、東"), "日@0 本@1 東@9 last 9");

  const Analyzer stops({.stop_words = {"to", "xyz", "The"}});
  EXPECT_EQ(Positions(stops, "the road to"), "the@0 road@1 last 1");
  EXPECT_EQ(Positions(stops, "to go. to é"), "go@1 e@10 last 10");
  EXPECT_EQ(Positions(stops, "to"), "none");
}

TEST(AnalyzerTest, LeavesOutWordsTooLongOrTooFarIntoTheText) {
  const Analyzer analyzer;
  const std::string longest(250, 'x');
  EXPECT_EQ(Positions(analyzer, "a " + longest + "x b"), "a@0 b@2 last 2");
  EXPECT_EQ(Positions(analyzer, "a " + longest + " b"), "a@0 " + longest + "@1 b@2 last 2");
  EXPECT_EQ(Positions(analyzer, "é " + longest + "x b"), "e@0 b@2 last 2");
  EXPECT_EQ(Positions(analyzer, "a b c", 65534), "a@65534 b@65535 last 65535");
  EXPECT_EQ(Positions(analyzer, "é b c", 65534), "e@65534 b@65535 last 65535");
  EXPECT_EQ(Positions(analyzer, "a", 65536), "none");
}

TEST(AnalyzerTest, MapsLemmaPrefixesBackToOriginalBytes) {
  struct Row {
    const char* text;
    uint32_t lemma_bytes, expected;
    std::vector<Locale> locales;
  };
  const Row rows[] = {
      {"léopard", 3, 4, {}},
      {"léopard", 2, 3, {}},
      {"léopard", 7, 8, {}},
      {"æther", 1, 2, {}},
      {"æther", 2, 2, {}},
      {"æther", 3, 3, {}},
      {"e\u0301cole", 1, 3, {}},
      {"e\u0301cole", 2, 4, {}},
      {"word", 2, 2, {}},
      {"word", 0, 0, {}},
      {"한", 3, 3, {}},
      {"ﬁn", 1, 3, {}},
      {"A\u030alen", 1, 3, {Locale::kSwe}},
      {"\u00a0ab", 1, 3, {}},
      {"ΣΟΦΟΣ", 4, 4, {}},
  };
  const Analyzer analyzer;
  for (const Row& row : rows) {
    TokenBuffer buffer;
    analyzer.Tokenize(row.text, row.locales, buffer);
    ASSERT_EQ(buffer.tokens.size(), 1u) << row.text;
    EXPECT_EQ(analyzer.OriginalPrefix(row.text, buffer.tokens[0], row.lemma_bytes), row.expected)
        << row.text << " " << row.lemma_bytes;
  }
}

TEST(NormalizeTest, FoldsWholeStringsForFacetSearch) {
  EXPECT_EQ(NormalizeLossy("Crème, BRÛLÉE ", {}), "creme, brulee ");
  EXPECT_EQ(NormalizeLossy("ΣΟΦΟΣ Λόγος", {}), "σοφοσ λογοσ");
  EXPECT_EQ(NormalizeLossy("コーヒー Éa", {}), "こうひい ea");
  const Locale swedish[] = {Locale::kSwe};
  EXPECT_EQ(NormalizeLossy("Öl", swedish), "öl");
  EXPECT_EQ(NormalizeLossy("", {}), "");
}

TEST(NormalizeTest, FoldsFacetValuesButKeepsAccents) {
  const auto facet = [](std::string_view text) {
    std::string out = "old";
    NormalizeFacet(text, out);
    return out;
  };
  EXPECT_EQ(facet("  Science Fiction\t"), "science fiction");
  EXPECT_EQ(facet("É"), "e\u0301");
  EXPECT_EQ(facet("e\u0301"), "e\u0301");
  EXPECT_EQ(facet("\u3000ＡＢ\u00a0"), "ab");
  EXPECT_EQ(facet("ΣΟΦΟΣ Σ"), "σοφος σ");
  EXPECT_EQ(facet("Ёлка"), "е\u0308лка");
  EXPECT_EQ(facet(""), "");
  EXPECT_EQ(facet(" \n"), "");
}

TEST(NormalizeTest, DecomposesStopWords) {
  EXPECT_EQ(Nfkd("Été ﬁ 각"), "E\u0301te\u0301 fi \u1100\u1161\u11a8");
}

TEST(NormalizeTest, RecognisesNumericWords) {
  for (const char* word : {"123", "1,5", "-12.3", "٤٢", "½", "²", "$5"})
    EXPECT_TRUE(IsNumericWord(word)) << word;
  for (const char* word : {"", "a1", "1a", "é", "1 2", "五"})
    EXPECT_FALSE(IsNumericWord(word)) << word;
}

TEST(LocaleTest, ReadsBothCodesAndWritesTheLongOne) {
  EXPECT_EQ(LocaleCode(*ParseLocale("ja")), "jpn");
  EXPECT_EQ(LocaleCode(*ParseLocale("jpn")), "jpn");
  EXPECT_EQ(LocaleCode(*ParseLocale("zh")), "zho");
  EXPECT_EQ(LocaleCode(*ParseLocale("cmn")), "cmn");
  EXPECT_EQ(LocaleCode(*ParseLocale("fa")), "pes");
  for (const char* code : {"", "FR", "french", "xx", "fre"})
    EXPECT_FALSE(ParseLocale(code)) << code;
  for (int i = 1; i <= static_cast<int>(Locale::kZul); ++i) {
    const Locale locale = static_cast<Locale>(i);
    EXPECT_EQ(ParseLocale(LocaleCode(locale)), locale);
  }
}

// Texts that hit the rules: separators, marks, every special letter, pieces of the settings below.
std::string RandomText(std::mt19937& random) {
  static const std::vector<std::string> kParts = {
      "a",       "B",        "the",    "The",    "x1",      "9",      " ",      "  ",     ", ",
      ". ",      ".",        ",",      "!",      "?",       "-",      "_",      "&",      "#",
      "|",       "<hr>",     "<hr",    "cat",    "J. K.",   "J.",     "\n",     "\t",     "\v",
      "\x01",    "\x7f",     "é",      "É",      "e\u0301", "\u0301", "å",      "Å",      "ä",
      "A\u030a", "ü",        "ß",      "œ",      "Æ",       "đ",      "Ð",      "ı",      "İ",
      "ﬁ",       "½",        "²",      "…",      "≠",       "№",      "‼",      "’",      "‛",
      "\u00a0",  "\u200c",   "\u200d", "«",      "ё",       "Й",      "Я",      "Σ",      "ς",
      "ό",       "ἀ",        "Ա",      "ֆ",      "և",       "ა",      "Ⴀ",      "ש",      "שָׁ",
      "ال",      "أل",       "ة",      "ى",      "ك",       "ی",      "۱",      "،",      "؟",
      "ــ",      "أ",        "人",     "国",     "語",      "々",     "𠮷",     "ア",     "か",
      "ガ",      "は\u3099", "\u3099", "ｶ",      "ﾞ",       "ー",     "ｰ",      "。",     "、",
      "，",      "！",       "・",     "Ａ",     "１",      "한",     "하",     "\u1112", "\u1161",
      "\u11ab",  "ㅎ",       "㈱",     "ก",      "ำ",       "ั",       "เ",      "๑",      "។",
      "ល",       "្",         "ត",      "ី",       "ມ",       "ຳ",      "က",      "္",       "ာ",
      "अ",       "क्ष",       "😀",      "\ufe0f", "東京",    "été",    "\u2028", "\u0085"};
  std::string text;
  const size_t count = random() % 12;
  for (size_t i = 0; i < count; ++i) {
    if (random() % 4 == 0) {
      text += std::string(random() % 90, static_cast<char>('a' + random() % 3)) + ' ';
    }
    text += kParts[random() % kParts.size()];
  }
  return text;
}

std::vector<AnalyzerSettings> TestedSettings() {
  return {{},
          {.stop_words = {"the", "été", "é", "-", "한", "か"}},
          {.stop_words = {"a"},
           .separator_tokens = {"|", "<hr>", "é", "東"},
           .non_separator_tokens = {"#", "_", "&", "，", "・"}},
          {.separator_tokens = {"a"},
           .non_separator_tokens = {",", ". ", " "},
           .dictionary = {"cat", "J. K.", "東京", "x", "e\u0301"}},
          {.dictionary = {"été", "人語", ".", "1"}},
          // More strings with the same first byte than are compared one by one.
          {.separator_tokens = {"aab", "aaaab"},
           .dictionary = {"aa",    "aaaaa", "aaaaaaaa", "aab",       "aaac",  "aac ",   "ab",
                          "aB",    "aéb",   "a",        "aaaaaaa国", "a the", "aa  .",  "aaaaab",
                          "aaaab", "aaa",   "人国",     "人語",      "人人",  "人語々", "人国",
                          "人。",  "人あ",  "人b",      "人語国",    "人ー"}}};
}

const std::vector<std::vector<Locale>> kTestedLocales = {{},
                                                         {Locale::kSwe},
                                                         {Locale::kPes},
                                                         {Locale::kAra, Locale::kPes},
                                                         {Locale::kJpn},
                                                         {Locale::kZho, Locale::kEng},
                                                         {Locale::kCmn, Locale::kJpn},
                                                         {Locale::kSwe, Locale::kDeu},
                                                         {Locale::kUrd}};

TEST(AnalyzerPropertyTest, AgreesWithTheNaiveAnalyzer) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const AnalyzerSettings& settings : TestedSettings()) {
    const Analyzer analyzer(settings);
    NaiveAnalyzer naive(settings);
    TokenBuffer buffer;
    for (int round = 0; round < 2000; ++round) {
      const std::string text = RandomText(random);
      const std::vector<Locale>& locales = kTestedLocales[random() % kTestedLocales.size()];
      buffer.Clear();
      analyzer.Tokenize(text, locales, buffer);
      std::vector<NaiveToken> tokens;
      for (const Token& t : buffer.tokens) {
        tokens.push_back({t.kind, t.unspaced, t.begin, t.end, std::string(buffer.lemma(t))});
      }
      const std::vector<NaiveToken> expected = naive.Tokenize(text, locales);
      if (tokens == expected) continue;
      std::string got, want;
      for (const auto& t : tokens) got += Show(t.kind, t.lemma) + "|";
      for (const auto& t : expected) want += Show(t.kind, t.lemma) + "|";
      FAIL() << text << "\n got  " << got << "\n want " << want;
    }
  }
}

// A word has the same form in a document and alone, as a query, whatever scripts are next to it.
TEST(AnalyzerPropertyTest, AWordAloneHasTheFormThatItHasInAText) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  static const std::vector<std::string> kParts = {"a",
                                                  "Z",
                                                  "é",
                                                  "e\u0301",
                                                  "Æ",
                                                  "’",
                                                  "1",
                                                  "9",
                                                  " ",
                                                  " ",
                                                  " ",
                                                  ", ",
                                                  "\u2764\ufe0f",
                                                  "\u2708\ufe0f",
                                                  "1\ufe0f\u20e3",
                                                  "Ⅻ",
                                                  "ⅻ",
                                                  "𝔄",
                                                  "𝐛",
                                                  "Ⓐ",
                                                  "ⓑ",
                                                  "Ꭰ",
                                                  "ꭰ",
                                                  "𐐀",
                                                  "辻\U000e0100",
                                                  "辻",
                                                  "さん",
                                                  "カ",
                                                  "国",
                                                  "㈱",
                                                  "㎝",
                                                  "Я",
                                                  "й",
                                                  "Й",
                                                  "Σ",
                                                  "ς",
                                                  "ό",
                                                  "Ա",
                                                  "ֆ",
                                                  "ა",
                                                  "Ⴀ",
                                                  "ש",
                                                  "שָׁ",
                                                  "한",
                                                  "ก",
                                                  "ำ",
                                                  "က",
                                                  "अ",
                                                  "क्ष",
                                                  "\u00ad",
                                                  "\u200d",
                                                  "😀",
                                                  "👩\u200d🚀",
                                                  "\u0301",
                                                  "\u3099",
                                                  "ᏣᎳᎩ",
                                                  "™",
                                                  "℃",
                                                  "½"};
  const Analyzer analyzer;
  TokenBuffer buffer, alone;
  for (int round = 0; round < 20000; ++round) {
    std::string text;
    for (size_t n = random() % 8 + 1; n > 0; --n) text += kParts[random() % kParts.size()];
    buffer.Clear();
    analyzer.Tokenize(text, {}, buffer);
    for (const Token& token : buffer.tokens) {
      if (token.kind != TokenKind::kWord) continue;
      const std::string source = text.substr(token.begin, token.end - token.begin);
      alone.Clear();
      analyzer.Tokenize(source, {}, alone);
      ASSERT_EQ(alone.tokens.size(), 1u) << text << " / " << source;
      ASSERT_EQ(alone.lemma(alone.tokens[0]), buffer.lemma(token)) << text << " / " << source;
    }
  }
}

TEST(AnalyzerPropertyTest, ReportsTheWordsOfTheTokens) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const AnalyzerSettings& settings : TestedSettings()) {
    const Analyzer analyzer(settings);
    TokenBuffer buffer, scratch;
    for (int round = 0; round < 2000; ++round) {
      std::string text = RandomText(random);
      if (round % 2 == 0) {
        std::erase_if(text, [](char c) { return static_cast<uint8_t>(c) >= 0x80; });
      }
      buffer.Clear();
      analyzer.Tokenize(text, {}, buffer);
      std::vector<std::pair<std::string, uint32_t>> expected, got;
      uint32_t position = 7;
      bool any = false, hard = false;
      for (const Token& token : buffer.tokens) {
        hard |= token.kind == TokenKind::kHardSeparator;
        if (token.kind > TokenKind::kStopWord) continue;
        if (any) position += hard ? 8 : 1;
        any = true;
        hard = false;
        if (token.kind == TokenKind::kWord && token.lemma_size <= 250) {
          expected.emplace_back(buffer.lemma(token), position);
        }
      }
      const auto last =
          analyzer.Words(text, {}, 7, scratch,
                         [&](std::string_view lemma, uint32_t at) { got.emplace_back(lemma, at); });
      ASSERT_EQ(got, expected) << text;
      ASSERT_EQ(last, expected.empty() ? std::nullopt : std::optional(expected.back().second))
          << text;
    }
  }
}

TEST(AnalyzerPropertyTest, CoversTheTextWithTokensInOrderWhateverTheBytes) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<AnalyzerSettings> settings = TestedSettings();
  std::vector<Analyzer> analyzers(settings.begin(), settings.end());
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 40, '\0');
    for (char& c : text) c = static_cast<char>(random() % 3 == 0 ? random() % 128 : random());
    const Analyzer& analyzer = analyzers[random() % analyzers.size()];
    const std::vector<Locale>& locales = kTestedLocales[random() % kTestedLocales.size()];
    TokenBuffer buffer;
    analyzer.Tokenize(text, locales, buffer);
    uint32_t end = 0;
    for (const Token& token : buffer.tokens) {
      ASSERT_LE(end, token.begin);
      ASSERT_LT(token.begin, token.end);
      ASSERT_LE(token.end, text.size());
      ASSERT_FALSE(buffer.lemma(token).empty());
      end = token.end;
      uint32_t prefix = 0;
      for (uint32_t n = 0; n <= token.lemma_size + 1; ++n) {
        const uint32_t longer = analyzer.OriginalPrefix(text, token, n);
        ASSERT_LE(prefix, longer);
        prefix = longer;
      }
      ASSERT_EQ(prefix, token.end - token.begin);
    }
    TokenBuffer scratch;
    analyzer.Words(text, locales, 0, scratch, [](std::string_view, uint32_t) {});
    std::string facet;
    NormalizeFacet(text, facet);
    NormalizeLossy(text, locales);
  }
}

}  // namespace
}  // namespace gannet::text
