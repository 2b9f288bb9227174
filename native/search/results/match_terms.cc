#include "search/results/match_terms.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace gannet::search {

MatchTerms MatchTermsOf(QueryEvaluator& query) {
  MatchTerms terms;
  const Graph& graph = query.graph;
  std::vector<NodeNumber> ordered(graph.nodes().size());
  std::iota(ordered.begin(), ordered.end(), NodeNumber{0});
  // Terms that are not prefixes first, longer ngrams first.
  std::stable_sort(ordered.begin(), ordered.end(), [&](NodeNumber a, NodeNumber b) {
    if (graph[a].term.prefix != graph[b].term.prefix) return graph[b].term.prefix;
    return graph[a].slots() > graph[b].slots();
  });
  for (const NodeNumber number : ordered) {
    const Node& node = graph[number];
    const NodeExpansions& of_node = query.expansion.Of(number);
    const auto first = static_cast<uint16_t>(node.term.first),
               last = static_cast<uint16_t>(node.term.last);
    const auto query_chars = static_cast<uint32_t>(CountChars(node.text));
    if (node.inside) terms.parts.push_back({node.text, first, last});
    for (int typos = 0; typos < kPartsClass; ++typos) {
      const Expansions& expansions = query.expansion.Class(number, typos);
      for (const Phrase& phrase : expansions.phrases) {
        MatchPhrase match;
        match.first_position = first;
        for (const WordNumber word : phrase.words) {
          match.words.push_back(word == kNoWord ? std::nullopt
                                                : std::optional(query.words[word].text));
        }
        terms.phrases.push_back(std::move(match));
      }
      // The words of a concatenated prefix may be listed one by one.
      const bool glued_prefix =
          typos == 0 && node.ngram() && node.term.prefix && !expansions.words.empty();
      // For a short prefix only the word as typed counts, if the index has it; it is the first word
      // of a concatenated one.
      const bool typed = node.ngram() ? !expansions.words.empty() &&
                                            query.words[expansions.words[0]].text == node.text
                                      : of_node.verbatim != kNoWord;
      const bool marked = (glued_prefix || query.expansion.HasLiveRange(expansions)) &&
                          (!of_node.short_prefix || typed);
      if (marked) terms.words.push_back({node.text, true, query_chars, first, last});
      if (glued_prefix && of_node.short_prefix) continue;
      for (const WordNumber word : expansions.words) {
        terms.words.push_back({query.words[word].text, node.term.prefix, query_chars, first, last});
      }
    }
  }
  return terms;
}

}  // namespace gannet::search
