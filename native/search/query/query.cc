#include "search/query/query.h"

#include <algorithm>

#include "base/utf8.h"

namespace gannet::search {
namespace {

using text::Token;
using text::TokenKind;

bool IsWord(const Token& token) {
  return token.kind == TokenKind::kWord || token.kind == TokenKind::kStopWord;
}

// Whether the term has a word that is not a stop word.
bool HasWord(const Term& term) {
  return std::any_of(term.words.begin(), term.words.end(),
                     [](const auto& word) { return word.has_value(); });
}

bool EndsInSpace(std::string_view text) {
  if (text.empty()) return false;
  const char last = text.back();
  if (last == ' ' || last == '\t' || last == '\n' || last == '\r' || last == '\f' || last == '\v')
    return true;
  // The other white space characters: U+00A0, U+2000..200A, 2028, 2029, 202F, 205F, 3000.
  if (text.ends_with("\xc2\xa0") || text.ends_with("\xe3\x80\x80")) return true;
  if (text.size() < 3) return false;
  const std::string_view tail = text.substr(text.size() - 3);
  return tail.starts_with("\xe2\x80") &&
         (static_cast<uint8_t>(tail[2]) <= 0x8a || tail[2] == '\xa8' || tail[2] == '\xa9' ||
          tail[2] == '\xaf');
}

// The number of bytes of the text that are analyzed; never splits a character.
size_t CutOf(std::string_view text) {
  return text.size() <= kQueryBytesMax ? text.size() : CharacterBegin(text, kQueryBytesMax);
}

class Parser {
 public:
  Parser(std::string_view text, const text::TokenBuffer& buffer,
         std::span<const uint32_t> word_starts, bool prefix_search, MatchingStrategy strategy)
      : text_(text), buffer_(buffer), word_starts_(word_starts), prefix_search_(prefix_search) {
    const bool question = strategy == MatchingStrategy::kNatural;
    count_ = std::min(buffer.tokens.size(), question ? kQuestionTokensMax : kQueryTokensMax);
    terms_max_ = question ? kQuestionTermsMax : kTermsMax;
  }

  ParsedQuery Run() {
    for (size_t i = 0; i < count_; ++i) {
      if (out_.terms.size() >= terms_max_) {
        in_phrase_ = false;
        break;
      }
      const Token& token = buffer_.tokens[i];
      if (IsWord(token)) {
        i = TakeWord(i);
      } else {
        TakeSeparator(i);
      }
    }
    ClosePhrase();
    return std::move(out_);
  }

 private:
  // Takes the word at `i`, or the run of characters that form one word; returns the last token
  // taken.
  size_t TakeWord(size_t i) {
    const Token& token = buffer_.tokens[i];
    ++position_;
    std::optional<std::string> word;
    if (token.kind == TokenKind::kWord) word = std::string(buffer_.lemma(token));
    if (in_phrase_) {
      // The position of a phrase is that of its first word that counts.
      if (!HasWord(phrase_)) phrase_.first = position_;
      phrase_.last = position_;
      // The characters of one word count once, if any of them is not a stop word.
      if (!ContinuesWord(i)) word_counted_ = false;
      if (word && !word_counted_) {
        ++phrase_.counted;
        word_counted_ = true;
      }
      phrase_.words.push_back(std::move(word));
      return i;
    }
    if (token.unspaced) return TakeUnspaced(i);
    const bool last = i + 1 == count_;
    if (negative_next_) {
      out_.negative_words.emplace_back(buffer_.lemma(token));
      negative_next_ = false;
    } else if (token.kind == TokenKind::kWord || last) {
      Term term;
      term.words = {std::string(buffer_.lemma(token))};
      term.prefix = last && prefix_search_;
      term.first = term.last = position_;
      out_.terms.push_back(std::move(term));
    }
    return i;
  }

  // Whether token `i` is a character of a script without spaces that belongs to the same word as
  // the token before it.
  bool ContinuesWord(size_t i) const {
    const Token& token = buffer_.tokens[i];
    if (i == 0 || !token.unspaced || !buffer_.tokens[i - 1].unspaced) return false;
    if (token.begin != buffer_.tokens[i - 1].end) return false;
    return std::find(word_starts_.begin(), word_starts_.end(), token.begin) == word_starts_.end();
  }

  size_t TakeUnspaced(size_t i) {
    Term term;
    term.first = position_;
    const auto word_at = [&](const Token& token) {
      return token.kind == TokenKind::kStopWord ? std::nullopt
                                                : std::optional(std::string(buffer_.lemma(token)));
    };
    term.words = {word_at(buffer_.tokens[i])};
    size_t last = i;
    while (last + 1 < count_ && ContinuesWord(last + 1)) {
      ++last;
      ++position_;
      // The phrase is at the position of its first character that counts.
      if (!HasWord(term)) term.first = position_;
      term.words.push_back(word_at(buffer_.tokens[last]));
    }
    term.last = position_;
    term.phrase = term.words.size() > 1;
    OpenLongMarks(term);
    if (!HasWord(term)) {
      // Only stop words: it counts only at the end of the query, as a word does.
      if (term.phrase || (last + 1 < count_ && !negative_next_)) {
        negative_next_ = false;
        return last;
      }
      term.words = {std::string(buffer_.lemma(buffer_.tokens[i]))};
    }
    if (negative_next_) {
      negative_next_ = false;
      if (term.phrase) {
        out_.negative_phrases.push_back(std::move(term.words));
      } else {
        out_.negative_words.push_back(*term.words[0]);
      }
    } else {
      out_.terms.push_back(std::move(term));
    }
    return last;
  }

  // A long mark at the beginning lengthens the vowel of a kana that is not in the query, so it
  // matches any word.
  static void OpenLongMarks(Term& term) {
    const auto is_other = [](const std::optional<std::string>& word) {
      return word != text::kLongMark;
    };
    const auto other = std::find_if(term.words.begin(), term.words.end(), is_other);
    if (other == term.words.begin() || other == term.words.end()) return;
    std::fill(term.words.begin(), other, std::nullopt);
    const auto counts =
        std::find_if(other, term.words.end(), [](const auto& word) { return word.has_value(); });
    if (counts != term.words.end())
      term.first = term.last - static_cast<int32_t>(term.words.end() - counts) + 1;
  }

  void TakeSeparator(size_t i) {
    const Token& token = buffer_.tokens[i];
    const std::string_view lemma = buffer_.lemma(token);
    if (token.kind == TokenKind::kHardSeparator) position_ += 7;
    if (token.kind == TokenKind::kHardSeparator && in_phrase_) {
      ClosePhrase();
      OpenPhrase(phrase_negative_);
      return;
    }
    if (lemma == "\"") {
      if (in_phrase_) {
        ClosePhrase();
      } else {
        OpenPhrase(negative_next_);
        negative_next_ = false;
      }
      return;
    }
    negative_next_ = !in_phrase_ && lemma == "-" && IsNegation(i);
  }

  bool IsNegation(size_t i) const {
    // Ignored characters have no token, but count as text before the minus sign.
    const std::string_view before = text_.substr(0, buffer_.tokens[i].begin);
    if (!before.empty() && !EndsInSpace(before)) return false;
    if (i + 1 >= count_) return false;
    const Token& after = buffer_.tokens[i + 1];
    return after.begin == buffer_.tokens[i].end && (IsWord(after) || buffer_.lemma(after) == "\"");
  }

  void OpenPhrase(bool negative) {
    in_phrase_ = true;
    phrase_negative_ = negative;
    phrase_ = Term();
    phrase_.phrase = phrase_.mandatory = true;
  }

  void ClosePhrase() {
    if (!in_phrase_) return;
    in_phrase_ = false;
    if (!HasWord(phrase_)) return;
    if (phrase_negative_) {
      out_.negative_phrases.push_back(std::move(phrase_.words));
    } else {
      out_.terms.push_back(std::move(phrase_));
    }
  }

  std::string_view text_;
  const text::TokenBuffer& buffer_;
  std::span<const uint32_t> word_starts_;
  bool prefix_search_;
  size_t count_, terms_max_;
  ParsedQuery out_;
  int32_t position_ = -1;
  bool in_phrase_ = false, phrase_negative_ = false, negative_next_ = false;
  Term phrase_;
  bool word_counted_ = false;  // whether the current word of the phrase is counted
};

}  // namespace

ParsedQuery ParseQuery(std::string_view text, const text::Analyzer& analyzer,
                       std::span<const text::Locale> locales, std::span<const uint32_t> word_starts,
                       bool prefix_search, MatchingStrategy strategy) {
  text = text.substr(0, CutOf(text));
  text::TokenBuffer buffer;
  analyzer.Tokenize(text, locales, buffer);
  return Parser(text, buffer, word_starts, prefix_search, strategy).Run();
}

}  // namespace gannet::search
