#include "search/results/match_terms.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace gannet::search {

MatchTerms MatchTermsOf(const ParsedQuery& query, Graph& graph) {
  MatchTerms terms;
  if (query.terms.empty()) return terms;
  auto& nodes = graph.nodes();
  std::vector<Node*> ordered;
  for (Node& node : nodes) ordered.push_back(&node);
  // Terms that are no prefix first, longer ngrams first.
  std::stable_sort(ordered.begin(), ordered.end(), [](const Node* a, const Node* b) {
    if (a->term.prefix != b->term.prefix) return b->term.prefix;
    return a->slots() > b->slots();
  });
  for (Node* node : ordered) {
    const auto first = static_cast<uint16_t>(node->term.first),
               last = static_cast<uint16_t>(node->term.last);
    const auto query_chars = static_cast<uint32_t>(CountChars(node->text));
    for (int typos = 0; typos < kTypoClasses; ++typos) {
      const Expansions& expansions = graph.Class(*node, typos);
      for (const Phrase& phrase : expansions.phrases) {
        MatchPhrase match;
        match.first_position = first;
        for (const WordNumber word : phrase.words) {
          match.words.push_back(word == kNoWord ? std::nullopt
                                                : std::optional(graph.words()[word].text));
        }
        terms.phrases.push_back(std::move(match));
      }
      // The words of a glued prefix may be listed one by one.
      const bool glued_prefix =
          typos == 0 && node->ngram() && node->term.prefix && !expansions.words.empty();
      // Of a short prefix only the word as typed counts, as long as the index has it.
      const bool marked = (glued_prefix || graph.HasLiveRange(expansions)) &&
                          (!node->short_prefix || node->verbatim != kNoWord);
      if (marked) terms.words.push_back({node->text, true, query_chars, first, last});
      if (glued_prefix && node->short_prefix) continue;
      for (const WordNumber word : expansions.words) {
        terms.words.push_back(
            {graph.words()[word].text, node->term.prefix, query_chars, first, last});
      }
    }
  }
  return terms;
}

}  // namespace gannet::search
