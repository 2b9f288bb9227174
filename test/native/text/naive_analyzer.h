// The analyzer step by step, as a reference model: slow, one pass per rule, without tables except
// those of single characters.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "text/analyzer.h"
#include "text/ideographs.h"

namespace gannet::text {

struct NaiveToken {
  TokenKind kind;
  bool unspaced;
  size_t begin, end;
  std::string lemma;

  bool operator==(const NaiveToken&) const = default;
};

class NaiveAnalyzer {
 public:
  explicit NaiveAnalyzer(const AnalyzerSettings& settings) {
    separators_ = {", ", ". ", "\u17d4\u179b\u17d4"};
    hard_ = separators_;
    for (char32_t c = 0; c < 0x20000; ++c) {
      const CharSeparator separator = CharInfo(c).separator();
      if (separator == CharSeparator::kNone) continue;
      separators_.insert(Utf8({c}));
      if (separator == CharSeparator::kHard && Nfkd(Utf8({c})) == Utf8({c}))
        hard_.insert(Utf8({c}));
    }
    for (const std::string& s : settings.separator_tokens) separators_.insert(s);
    for (const std::string& s : settings.non_separator_tokens) separators_.erase(s);
    separators_.erase("");
    cuts_ = separators_;
    for (const std::string& s : settings.dictionary) cuts_.insert(s);
    cuts_.erase("");
    for (const std::string& s : settings.stop_words) stop_words_.insert(Nfkd(s));
  }

  std::vector<NaiveToken> Tokenize(const std::string& text, const std::vector<Locale>& locales) {
    tokens_.clear();
    text_ = text;
    chars_.clear();
    for (size_t at = 0; at < text.size();) {
      const size_t begin = at;
      const char32_t c = DecodeUtf8(text, at);
      chars_.push_back({c, begin, at});
    }
    size_t first = 0;
    while (first < chars_.size()) {
      Script script = Script::kOther;
      size_t last = first;
      for (; last < chars_.size(); ++last) {
        const Script own = CharInfo(chars_[last].c).script();
        if (own == Script::kOther || own == script) continue;
        if (script != Script::kOther) break;
        script = own;
      }
      CutGroup(first, last, script, locales);
      first = last;
    }
    return tokens_;
  }

 private:
  struct Char {
    char32_t c;
    size_t begin, end;
  };
  using Text = std::u32string;

  static std::string Utf8(const Text& text) {
    std::string out;
    for (const char32_t c : text) AppendUtf8(out, c);
    return out;
  }
  static Text Decode(const std::string& text) {
    Text out;
    for (size_t at = 0; at < text.size();) out.push_back(DecodeUtf8(text, at));
    return out;
  }
  std::string Source(size_t first, size_t last) const {
    return first == last
               ? ""
               : text_.substr(chars_[first].begin, chars_[last - 1].end - chars_[first].begin);
  }

  void CutGroup(size_t first, size_t last, Script script, const std::vector<Locale>& locales) {
    const auto has = [&](Locale l) {
      return std::find(locales.begin(), locales.end(), l) != locales.end();
    };
    const auto holds = [&](const Text& wanted) {
      for (size_t i = first; i < last; ++i) {
        if (wanted.find(chars_[i].c) != Text::npos) return true;
      }
      return false;
    };
    size_t letters = 0, armenian = 0;
    for (size_t i = first; i < last; ++i) {
      if (!CharInfo(chars_[i].c).is_letter()) continue;
      ++letters;
      armenian += chars_[i].c >= 0x530 && chars_[i].c < 0x590;
    }
    if (2 * armenian > letters && !IsUnspaced(script)) script = Script::kArmenian;
    script_ = script;
    swedish_ =
        script == Script::kLatin && has(Locale::kSwe) && (locales.size() == 1 || !holds(U"üÜß"));
    article_ = persian_ = false;
    if (script == Script::kArabic) {
      const bool arabic = locales.empty() || has(Locale::kAra);
      article_ = arabic || has(Locale::kPes);
      persian_ = has(Locale::kPes) && (!arabic || holds(U"پچژگکی"));
    }

    size_t piece = first;
    for (size_t i = first; i < last;) {
      size_t best = 0;
      for (size_t n = 1; n <= 12 && i + n <= last; ++n) {
        if (cuts_.contains(Source(i, i + n))) best = n;
      }
      if (best == 0) {
        ++i;
        continue;
      }
      AddPiece(piece, i);
      previous_ = 0;
      AddToken(i, i + best, false);
      piece = i += best;
    }
    AddPiece(piece, last);
  }

  void AddPiece(size_t first, size_t last) {
    previous_ = 0;
    if (first == last) return;
    if (IsUnspaced(script_)) {
      for (size_t i = first; i < last;) {
        const bool unspaced = CharInfo(chars_[i].c).script() != Script::kOther;
        size_t end = i + 1;
        while (end < last &&
               (unspaced ? OneCluster(end) : CharInfo(chars_[end].c).script() == Script::kOther))
          ++end;
        AddToken(i, end, unspaced);
        i = end;
      }
      return;
    }
    if (article_ && Source(first, last).size() > 4) {
      const std::string two = Source(first, first + 2);
      if (std::set<std::string>{"ال", "أل", "إل", "آل", "ٱل"}.contains(two)) {
        AddToken(first, first + 2, false);
        first += 2;
      }
    }
    AddToken(first, last, false);
  }

  // Whether chars_[i] continues the cluster of the character before it: the pair table of the
  // rules.
  bool OneCluster(size_t i) const {
    const char32_t a = chars_[i - 1].c, b = chars_[i].c;
    if (CharInfo(b).extends() || a == 0x17d2 || a == 0x1039) return true;
    const auto type = [](char32_t c) {
      if ((c >= 0x1100 && c <= 0x115f) || (c >= 0xa960 && c <= 0xa97c)) return 'L';
      if ((c >= 0x1160 && c <= 0x11a7) || (c >= 0xd7b0 && c <= 0xd7c6)) return 'V';
      if ((c >= 0x11a8 && c <= 0x11ff) || (c >= 0xd7cb && c <= 0xd7fb)) return 'T';
      if (c >= 0xac00 && c <= 0xd7a3) return (c - 0xac00) % 28 == 0 ? 'v' : 't';
      return '-';
    };
    static const std::set<std::string> kPairs = {"LL", "LV", "Lv", "Lt", "VV",
                                                 "VT", "vV", "vT", "TT", "tT"};
    return kPairs.contains({type(a), type(b)});
  }

  void AddToken(size_t first, size_t last, bool unspaced) {
    const Text lossless = Lossless(first, last);
    const std::string bytes = Utf8(lossless);
    TokenKind kind = TokenKind::kWord;
    if (stop_words_.contains(bytes)) {
      kind = TokenKind::kStopWord;
    } else if (separators_.contains(bytes)) {
      kind = hard_.contains(bytes) ? TokenKind::kHardSeparator : TokenKind::kSoftSeparator;
    }
    Text lemma = Lossy(lossless);
    if (kind == TokenKind::kWord || kind == TokenKind::kStopWord) {
      const Text white = U"\t\n\v\f\r \u0085\u1680\u2028\u2029\u3000";
      const size_t begin = lemma.find_first_not_of(white);
      lemma = begin == Text::npos ? U""
                                  : lemma.substr(begin, lemma.find_last_not_of(white) - begin + 1);
    }
    if (lemma.empty()) return;
    tokens_.push_back({kind, unspaced, chars_[first].begin, chars_[last - 1].end, Utf8(lemma)});
  }

  Text Lossless(size_t first, size_t last) const {
    Text out;
    for (size_t i = first; i < last; ++i) out += Decode(Nfkd(Utf8({chars_[i].c})));
    if (swedish_) {
      for (const auto& [pair, letter] :
           std::vector<std::pair<Text, char32_t>>{{U"a\u030a", U'å'},
                                                  {U"A\u030a", U'Å'},
                                                  {U"a\u0308", U'ä'},
                                                  {U"A\u0308", U'Ä'},
                                                  {U"o\u0308", U'ö'},
                                                  {U"O\u0308", U'Ö'}}) {
        for (size_t at; (at = out.find(pair)) != Text::npos;) out.replace(at, 2, 1, letter);
      }
    }
    std::erase_if(out, [](char32_t c) {
      return (c > 0 && c < 9) || (c > 13 && c < 32) || (c >= 0x7f && c < 0xa0 && c != 0x85);
    });
    return out;
  }

  static void Replace(Text& text, const Text& from, const std::vector<Text>& to) {
    Text out;
    for (const char32_t c : text) {
      const size_t at = from.find(c);
      out += at == Text::npos ? Text(1, c) : to[at];
    }
    text = out;
  }

  // Ignorable code points, by their names in Unicode.
  static bool Ignorable(char32_t c) {
    const std::vector<std::pair<char32_t, char32_t>> ranges = {
        {0xad, 0xad},      {0x34f, 0x34f},   {0x61c, 0x61c},     {0x115f, 0x1160},
        {0x17b4, 0x17b5},  {0x180b, 0x180f}, {0x200b, 0x200f},   {0x202a, 0x202e},
        {0x2060, 0x206f},  {0x3164, 0x3164}, {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
        {0xffa0, 0xffa0},  {0xfff0, 0xfff8}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a},
        {0xe0000, 0xe0fff}};
    return std::any_of(ranges.begin(), ranges.end(),
                       [&](const auto& range) { return range.first <= c && c <= range.second; });
  }

  // The form of a single character.
  Text Form(char32_t c) const {
    c = LowerChar(c);
    const Script script = CharInfo(c).script();
    Text t(1, c);
    if (script == Script::kArabic) {
      if (persian_) {
        Replace(t, U"يىك،؟", {U"ی", U"ی", U"ک", U",", U"?"});
        if (c >= 0x6f0 && c <= 0x6f9) t = Text(1, c - 0x6f0 + '0');
      }
      Replace(t, U"أإآٱىة", {U"ا", U"ا", U"ا", U"ا", U"ي", U"ه"});
      std::erase(t, 0x640);
    }
    Replace(t, U"’‘‛æœđðıς", {U"'", U"'", U"'", U"ae", U"oe", U"d", U"d", U"i", U"σ"});
    if (script == Script::kCj && c != U'ー') {
      for (char32_t& one : t) {
        one = IdeographForm(one);
        if ((one >= U'ァ' && one <= U'ヶ') || one == U'ヽ' || one == U'ヾ') one -= U'ァ' - U'ぁ';
      }
    }
    return t;
  }

  Text Lossy(const Text& t) {
    const std::set<Script> unmarked = {Script::kOther,  Script::kLatin,  Script::kGreek,
                                       Script::kArabic, Script::kHebrew, Script::kThai};
    Text out;
    Script base = Script::kOther;
    // Outside text without spaces there is no kana before.
    if (!IsUnspaced(script_)) previous_ = 0;
    for (const char32_t c : t) {
      if (Ignorable(c)) continue;
      const Script script = CharInfo(c).script();
      if (CharInfo(c).is_mark()) {
        if (!unmarked.contains(script == Script::kOther ? base : script)) out += c;
        continue;
      }
      base = script;
      if (c == U'ー') {
        out += previous_ != 0 ? previous_ : c;
        continue;
      }
      const Text form = Form(c);
      out += form;
      previous_ = 0;
      const std::vector<std::pair<Text, char32_t>> rows = {
          {U"あぁかがさざただなはばぱまやゃらわゎゕ", U'あ'},
          {U"いぃきぎしじちぢにひびぴみりゐ", U'い'},
          {U"うぅくぐすずつづっぬふぶぷむゆゅるゔ", U'う'},
          {U"えぇけげせぜてでねへべぺめれゑゖ", U'え'},
          {U"おぉこごそぞとどのほぼぽもよょろを", U'う'}};
      for (const auto& [row, vowel] : rows) {
        if (script == Script::kCj && row.find(form) != Text::npos) previous_ = vowel;
      }
    }
    return out;
  }

  std::set<std::string> separators_, hard_, cuts_, stop_words_;
  std::string text_;
  std::vector<Char> chars_;
  std::vector<NaiveToken> tokens_;
  Script script_ = Script::kOther;
  bool swedish_ = false, article_ = false, persian_ = false;
  char32_t previous_ = 0;  // vowel of the kana before
};

}  // namespace gannet::text
