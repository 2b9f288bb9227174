// A reference model: highlights and crops one text with plain loops that follow
// docs/behaviour/results.md sentence by sentence.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "search/results/highlighter.h"

namespace gannet::search {

struct NaiveMatch {
  size_t first_word, last_word;
  size_t begin, end;
  int first_position, last_position;
  int phrase_words;
};

class NaiveHighlighter {
 public:
  NaiveHighlighter(const text::Analyzer& analyzer, const MatchTerms& terms, std::string_view text)
      : text_(text) {
    analyzer.Tokenize(text, {}, buffer_);
    for (size_t i = 0; i < buffer_.tokens.size(); ++i) {
      if (Kind(i) == 'w') words_.push_back(i);
    }
    for (size_t w = 0; w < words_.size(); ++w) {
      if (MatchPhrases(terms, w)) {
        w = matches_.back().last_word;
      } else {
        MatchWords(analyzer, terms, w);
      }
    }
  }

  // length  in words; 0: the whole text
  std::string Format(size_t length) const {
    size_t begin = 0, end = text_.size();
    if (length > 0) std::tie(begin, end) = Crop(length);
    std::string out = begin > 0 ? "…" : "";
    for (size_t at = begin; at < end;) {
      const auto match = std::find_if(matches_.begin(), matches_.end(), [&](const NaiveMatch& m) {
        return m.begin <= at && at < m.end;
      });
      if (match == matches_.end()) {
        out += text_[at++];
        continue;
      }
      const size_t stop = std::min(match->end, end);
      out += "<em>" + std::string(text_.substr(at, stop - at)) + "</em>";
      at = stop;
    }
    return out + (end < text_.size() ? "…" : "");
  }

 private:
  const text::Token& Token(size_t word) const { return buffer_.tokens[words_[word]]; }

  char Kind(size_t token) const {
    switch (buffer_.tokens[token].kind) {
      case text::TokenKind::kSoftSeparator: return 's';
      case text::TokenKind::kHardSeparator: return 'h';
      default: return 'w';
    }
  }

  bool MatchPhrases(const MatchTerms& terms, size_t w) {
    for (const MatchPhrase& phrase : terms.phrases) {
      const size_t count = phrase.words.size();
      bool equal = w + count <= words_.size();
      for (size_t i = 0; equal && i < count; ++i) {
        equal = phrase.words[i] && buffer_.lemma(Token(w + i)) == *phrase.words[i];
      }
      if (!equal) continue;
      const int first = phrase.first_position, words = static_cast<int>(count);
      matches_.push_back({w, w + count - 1, Token(w).begin, Token(w + count - 1).end, first,
                          first + words - 1, words});
      return true;
    }
    return false;
  }

  void MatchWords(const text::Analyzer& analyzer, const MatchTerms& terms, size_t w) {
    const std::string_view lemma = buffer_.lemma(Token(w));
    for (const MatchWord& word : terms.words) {
      if (word.prefix ? !lemma.starts_with(word.word) : lemma != word.word) continue;
      size_t end = Token(w).end;
      if (word.prefix) {
        uint32_t bytes = 0, chars = 0;
        while (bytes < word.word.size() && chars < word.query_chars) {
          do ++bytes;
          while (bytes < word.word.size() && (word.word[bytes] & 0xc0) == 0x80);
          ++chars;
        }
        end = Token(w).begin + analyzer.OriginalPrefix(text_, Token(w), bytes);
      }
      matches_.push_back({w, w, Token(w).begin, end, word.first_position, word.last_position, 0});
      return;
    }
  }

  using Score = std::tuple<int, int, int>;
  Score ScoreOf(size_t i, size_t j) const {
    std::set<int> positions;
    int near = 0, ordered = 0;
    for (size_t m = i; m <= j; ++m) {
      for (int p = matches_[m].first_position; p <= matches_[m].last_position; ++p)
        positions.insert(p);
      if (matches_[m].phrase_words > 0) {
        near -= matches_[m].phrase_words - 1;
        ordered += matches_[m].phrase_words - 1;
      }
      if (m == i) continue;
      near -=
          std::min<int>(7, static_cast<int>(matches_[m].first_word - matches_[m - 1].last_word));
      ordered += matches_[m].first_position > matches_[m - 1].first_position;
    }
    return {static_cast<int>(positions.size()), near, ordered};
  }

  // The indexes of the first and the last match.
  std::pair<size_t, size_t> Best(size_t length) const {
    const auto fits = [&](size_t i, size_t j) {
      return matches_[j].last_word - matches_[i].first_word < length;
    };
    std::pair<size_t, size_t> best{0, 0};
    Score score{-1, 0, 0};
    for (size_t i = 0; i < matches_.size(); ++i) {
      for (size_t j = i; j < matches_.size(); ++j) {
        if (!fits(i, j)) continue;
        if ((i > 0 && fits(i - 1, j)) || (j + 1 < matches_.size() && fits(i, j + 1))) continue;
        if (ScoreOf(i, j) > score) {
          score = ScoreOf(i, j);
          best = {i, j};
        }
      }
    }
    return best;
  }

  // Bytes.
  std::pair<size_t, size_t> Crop(size_t length) const {
    size_t begin = 0, end = 0, left = length;
    if (!matches_.empty()) {
      const auto [i, j] = Best(length);
      const size_t first = matches_[i].first_word, last = matches_[j].last_word;
      begin = words_[first];
      end = words_[last] + 1;
      if (last - first + 1 > length) {
        begin = 0;
        end = words_[first + length];
        if (Kind(end - 1) != 'w') --end;
        left = 0;
      } else {
        left -= last - first + 1;
      }
    }
    const size_t count = buffer_.tokens.size();
    while (left > 0 && (begin > 0 || end < count)) {
      const char before = begin > 0 ? Kind(begin - 1) : '-', after = end < count ? Kind(end) : '-';
      bool take_left = false, take_right = false;
      if (before == '-')
        take_right = true;
      else if (after == '-')
        take_left = true;
      else if (before == 'w' && after == 'w')
        take_left = true, take_right = left > 1;
      else if (before == 'w')
        take_left = true;
      else if (after == 'w')
        take_right = true;
      else if (before == after)
        take_left = true, take_right = left > 1;
      else
        (before == 'h' ? take_right : take_left) = true;
      if (take_left) left -= Kind(--begin) == 'w';
      if (take_right) left -= Kind(end++) == 'w';
    }
    return {begin == 0 ? 0 : buffer_.tokens[begin - 1].end,
            end == count ? text_.size() : buffer_.tokens[end].begin};
  }

  std::string_view text_;
  text::TokenBuffer buffer_;
  std::vector<size_t> words_;  // indexes of the tokens that are words
  std::vector<NaiveMatch> matches_;
};

}  // namespace gannet::search
