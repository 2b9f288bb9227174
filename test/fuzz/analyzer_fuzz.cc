// Arbitrary bytes as text and as settings: the tokens stay inside the text, in order, and words
// fast and slow agree.
//
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -Inative
//   test/fuzz/analyzer_fuzz.cc native/text/*.cc
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "text/analyzer.h"

using gannet::text::Analyzer;
using gannet::text::AnalyzerSettings;
using gannet::text::Locale;
using gannet::text::Token;
using gannet::text::TokenBuffer;
using gannet::text::TokenKind;

static void Require(bool holds) {
  if (!holds) std::abort();
}

// Input: lines. The first byte of a line says what the rest is (d, s, n, w, l); the last line is
// the text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view input(reinterpret_cast<const char*>(data), size);
  AnalyzerSettings settings;
  std::vector<Locale> locales;
  for (size_t end; (end = input.find('\n')) != std::string_view::npos && end > 0;) {
    const std::string line(input.substr(1, end - 1));
    switch (input[0]) {
      case 'd': settings.dictionary.push_back(line); break;
      case 's': settings.separator_tokens.push_back(line); break;
      case 'n': settings.non_separator_tokens.push_back(line); break;
      case 'w': settings.stop_words.push_back(line); break;
      case 'l':
        if (const auto locale = gannet::text::ParseLocale(line)) locales.push_back(*locale);
        break;
      default: break;
    }
    input.remove_prefix(end + 1);
  }

  const Analyzer analyzer(std::move(settings));
  TokenBuffer tokens, scratch;
  analyzer.Tokenize(input, locales, tokens);
  uint32_t end = 0;
  std::vector<std::string> words;
  for (const Token& token : tokens.tokens) {
    Require(token.begin >= end && token.end > token.begin && token.end <= input.size());
    Require(token.lemma_size > 0);
    end = token.end;
    Require(analyzer.OriginalPrefix(input, token, token.lemma_size) == token.end - token.begin);
    Require(analyzer.OriginalPrefix(input, token, 1) <= token.end - token.begin);
    if (token.kind == TokenKind::kWord && token.lemma_size <= gannet::text::kWordBytesMax) {
      words.emplace_back(tokens.lemma(token));
    }
  }
  size_t count = 0;
  uint32_t last = 0;
  analyzer.Words(input, locales, 0, scratch, [&](std::string_view lemma, uint32_t position) {
    Require(count < words.size() && words[count] == lemma);
    Require(count == 0 || position > last);
    last = position;
    ++count;
  });
  Require(count == words.size() || last + 8 * input.size() >= gannet::text::kPositionMax);

  std::string facet;
  gannet::text::NormalizeFacet(input, facet);
  gannet::text::NormalizeLossy(input, locales);
  return 0;
}
