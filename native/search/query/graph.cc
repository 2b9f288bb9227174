#include "search/query/graph.h"

#include <optional>
#include <span>
#include <utility>

#include "base/utf8.h"
#include "search/query/synonyms.h"

namespace gannet::search {
namespace {

// The node for a run of terms, if there is one: adjacent words are concatenated, other runs have
// only synonyms.
// REQUIRES: several terms, or one phrase.
std::optional<Node> JoinTerms(const SynonymTable& synonyms, std::span<const Term> terms,
                              uint32_t first, uint32_t count) {
  Node node;
  for (uint32_t slot = first; slot < first + count; ++slot) {
    const Term& term = terms[slot];
    if (term.mandatory || (slot > first && term.first != terms[slot - 1].last + 1))
      return std::nullopt;
    node.synonyms_only = node.synonyms_only || term.phrase;
    for (const auto& word : term.words) {
      if (!word) continue;
      node.term.words.push_back(word);
      node.text += *word;
    }
  }
  node.term.first = terms[first].first;
  node.term.last = terms[first + count - 1].last;
  node.first_slot = first;
  node.last_slot = first + count - 1;
  if (node.synonyms_only) {
    node.text.clear();
    if (synonyms.Find(WordsKey(node.term)) == nullptr) return std::nullopt;
    return node;
  }
  if (node.text.size() > kWordBytesMax) return std::nullopt;
  node.term.prefix = terms[first + count - 1].prefix;
  return node;
}

uint32_t AllowedTypos(const index::Settings& settings, const SynonymTable& synonyms,
                      const Node& node) {
  if (node.term.phrase || node.synonyms_only || !settings.typo_enabled ||
      synonyms.TyposDisabled(node.text))
    return 0;
  const size_t length = CountChars(node.text);
  const uint32_t allowed = length < settings.one_typo ? 0 : length < settings.two_typos ? 1 : 2;
  const uint32_t glue = node.slots() - 1;
  return allowed > glue ? allowed - glue : 0;
}

// Whether words that contain the word count: it is a single word that is long enough.
bool MatchesInside(const index::Settings& settings, const SynonymTable& synonyms,
                   const Node& node) {
  return !settings.found_by_parts.empty() && !node.term.phrase && !node.synonyms_only &&
         !node.ngram() && CountChars(node.text) >= segment::kTripleChars &&
         node.text.size() <= kWordBytesMax && !synonyms.TyposDisabled(node.text);
}

}  // namespace

std::string WordsKey(const Term& term) {
  std::string key;
  for (const auto& word : term.words) {
    if (!key.empty()) key += ' ';
    key += *word;
  }
  return key;
}

Graph::Graph(const index::Snapshot& snapshot, const ParsedQuery& query)
    : synonyms_(SynonymTable::Of(snapshot)) {
  const auto& terms = query.terms;
  const auto add = [&](Node node) {
    node.allowed_typos = AllowedTypos(*snapshot.settings, *synonyms_, node);
    node.inside = MatchesInside(*snapshot.settings, *synonyms_, node);
    nodes_.push_back(std::move(node));
  };
  for (uint32_t slot = 0; slot < terms.size(); ++slot) {
    Node node;
    node.term = terms[slot];
    node.first_slot = node.last_slot = slot;
    if (!node.term.phrase) node.text = *node.term.words[0];
    add(std::move(node));
  }
  for (uint32_t first = 0; first < terms.size(); ++first) {
    for (uint32_t count = terms[first].phrase ? 1 : 2;
         count <= kNgramSlotsMax && first + count <= terms.size(); ++count) {
      if (auto node = JoinTerms(*synonyms_, terms, first, count)) add(std::move(*node));
    }
  }
}

}  // namespace gannet::search
