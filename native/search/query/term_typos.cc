// Expansions of class 1 and 2: words with typos, and the word split in two.
#include "base/stop_point.h"
#include "search/query/term_expansion.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "fst/levenshtein.h"

namespace gannet::search {
namespace {

using index::ExpansionCache;

// The key of classes 1 and 2 of a node. Everything else that they depend on belongs to the
// snapshot.
std::string TyposKey(const Node& node) {
  std::string key = node.text;
  key += '\0';
  key += static_cast<char>(node.allowed_typos << 1 | (node.term.prefix ? 1 : 0));
  if (node.ngram() && node.term.words.size() == 2) key += *node.term.words[0];
  return key;
}

}  // namespace

void TermExpansion::ExpandTypos(NodeNumber number, int typo_class) {
  ClassUnsplit(number, typo_class - 1);
  const Node& node = graph_[number];
  NodeExpansions& of_node = nodes_[number];
  Expansions& expansions = of_node.classes[typo_class];
  expansions.ready = true;
  if (node.term.phrase || node.synonyms_only || node.text.size() > kWordBytesMax) {
    of_node.split_known = true;
    return;
  }
  auto& cached = splits_[number].cached;
  if (cached == nullptr) cached = snapshot_.expansion_cache.Find(TyposKey(node));
  if (cached == nullptr || !cached->typos[typo_class - 1]) {
    FindTypos(number, typo_class);
    return KeepTypos(number);
  }
  const auto number_of = [&](const ExpansionCache::Word& word) {
    return words_.Add(word.text, word.ordinals);
  };
  for (const ExpansionCache::Word& word : *cached->typos[typo_class - 1])
    expansions.words.push_back(number_of(word));
  if (typo_class != 1) return;
  of_node.split_known = cached->split_known;
  if (const auto& split = cached->split)
    expansions.phrases.push_back({{number_of(split->first), number_of(split->second)}});
}

void TermExpansion::KeepTypos(NodeNumber number) {
  const NodeExpansions& of_node = nodes_[number];
  auto& cached = splits_[number].cached;
  const auto word_of = [&](WordNumber word) {
    return ExpansionCache::Word{words_[word].text, words_[word].ordinals};
  };
  auto entry = std::make_shared<ExpansionCache::Entry>();
  for (size_t typos = 0; typos < entry->typos.size(); ++typos) {
    const Expansions& expansions = of_node.classes[typos + 1];
    if (expansions.ready) {
      auto& words = entry->typos[typos].emplace();
      for (const WordNumber word : expansions.words) words.push_back(word_of(word));
    } else if (cached != nullptr) {
      entry->typos[typos] = cached->typos[typos];
    }
  }
  entry->split_known = of_node.split_known;
  for (const Phrase& phrase : of_node.classes[1].phrases)
    entry->split = {word_of(phrase.words[0]), word_of(phrase.words[1])};
  if (cached != nullptr) entry->spared = cached->spared.load(std::memory_order_relaxed);
  snapshot_.expansion_cache.Store(TyposKey(graph_[number]), entry);
  cached = std::move(entry);
}

void TermExpansion::FindTypos(NodeNumber number, int typo_class) {
  const Node& node = graph_[number];
  if (node.allowed_typos < static_cast<uint32_t>(typo_class)) return;
  // A single typo is not in the first character: an edit of the first character counts as two.
  const fst::FirstChar first =
      typo_class == 1 ? fst::FirstChar::kSameFirst : fst::FirstChar::kSameFirstOrOne;
  const fst::FuzzyQuery query(node.text, typo_class, node.term.prefix, first);
  size_t char_bytes = 0;
  DecodeUtf8(node.text, char_bytes);
  const std::string_view first_char = std::string_view(node.text).substr(0, char_bytes);
  std::vector<fst::FuzzyStream> streams;
  for (const auto& segment : snapshot_.segments)
    streams.emplace_back(segment->text->terms(), query);
  const size_t words_max = typo_class == 1 ? kOneTypoWordsMax : kTwoTypoWordsMax;
  std::vector<WordNumber>& words = nodes_[number].classes[typo_class].words;
  std::string word;
  while (words.size() < words_max) {
    StopPoint();
    bool any = false;
    for (const auto& stream : streams) {
      if (!stream.Valid()) continue;
      if (!any || stream.word() < word) word = stream.word();
      any = true;
    }
    if (!any) break;
    int distance = 0;
    bool live = false;
    const bool zero_typo = word == node.text || (node.term.prefix && word.starts_with(node.text));
    const bool numeric = scope_.exact_numbers && text::IsNumericWord(word);
    for (size_t s = 0; s < streams.size(); ++s) {
      if (!streams[s].Valid() || streams[s].word() != word) continue;
      distance = streams[s].distance();
      if (!zero_typo && !numeric &&
          words_.IsLive(s, streams[s].ordinal(),
                        scope_.index_exact ? &scope_.index_tolerant : nullptr)) {
        live = true;
      }
      streams[s].Next();
    }
    if (!live || distance == 0) continue;
    if (typo_class == 2 && !std::string_view(word).starts_with(first_char)) distance = 2;
    if (distance != typo_class) continue;
    if (const WordNumber known = words_.Find(word); known != kNoWord) words.push_back(known);
  }
}

void TermExpansion::FindSplit(NodeNumber node) {
  const StepGuard whole;
  if (auto split = BestSplit(node)) nodes_[node].classes[1].phrases.push_back(std::move(*split));
  nodes_[node].split_known = true;
  KeepTypos(node);
}

std::vector<TermExpansion::SplitCandidate>& TermExpansion::SplitCandidates(NodeNumber number) {
  auto& known = splits_[number].candidates;
  if (known) return *known;
  const Node& node = graph_[number];
  std::vector<SplitCandidate>& candidates = known.emplace();
  const bool joined = node.ngram() && node.term.words.size() == 2;
  for (size_t at = 0; at < node.text.size();) {
    DecodeUtf8(node.text, at);
    if (at >= node.text.size()) break;
    const WordNumber left = words_.Find(std::string_view(node.text).substr(0, at));
    if (left == kNoWord) continue;
    const WordNumber right = words_.Find(std::string_view(node.text).substr(at));
    if (right == kNoWord) continue;
    const bool own = joined && words_[left].text == *node.term.words[0];
    candidates.push_back({{{left, right}},
                          std::min(postings_.DocumentsMax(left), postings_.DocumentsMax(right)),
                          at,
                          own});
  }
  return candidates;
}

bool TermExpansion::MayBeSplit(NodeNumber number, const DocSet& within) {
  // For a word that is requested often, compute it once for all documents.
  constexpr uint32_t kSparedMax = 8;
  const std::vector<SplitCandidate>& candidates = SplitCandidates(number);
  if (candidates.empty()) return true;  // known without reading
  Splits& splits = splits_[number];
  if (within.IsSubsetOf(splits.unsplit)) return false;
  if (splits.cached->spared.fetch_add(1, std::memory_order_relaxed) >= kSparedMax) return true;
  for (const SplitCandidate& candidate : candidates) {
    // Two concatenated words of the query are not split into themselves.
    if (!candidate.own && !phrases_.Documents(candidate.phrase, nullptr, &within, 1).empty())
      return true;
  }
  splits.unsplit = within;
  return false;
}

std::optional<Phrase> TermExpansion::BestSplit(NodeNumber number) {
  std::vector<SplitCandidate>& candidates = SplitCandidates(number);
  if (candidates.size() > 1) {
    for (SplitCandidate& candidate : candidates) {
      const WordNumber left = candidate.phrase.words[0], right = candidate.phrase.words[1];
      if (!postings_.ListsAdjacency(left, right))
        candidate.bound = std::min(candidate.bound, postings_.CommonMax(left, right));
    }
  }
  // The split with the most documents wins, in whatever fields; the earliest of equals.
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.bound > b.bound; });
  // Two concatenated words of the query are not split into themselves: if that split has the most
  // documents, there is none. Check it last: often no other split is possible.
  const auto own = std::find_if(candidates.begin(), candidates.end(),
                                [](const auto& candidate) { return candidate.own; });
  if (own != candidates.end()) std::rotate(own, own + 1, candidates.end());
  const SplitCandidate* best = nullptr;
  uint64_t best_count = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const SplitCandidate& candidate = candidates[i];
    if (candidate.bound < std::max<uint64_t>(best_count, 1)) continue;
    // It is enough to know that it has more than all others have, or may have.
    uint64_t others = best_count;
    for (size_t j = i + 1; j < candidates.size(); ++j)
      others = std::max(others, candidates[j].bound);
    const uint64_t count =
        phrases_.Documents(candidate.phrase, nullptr, nullptr, others + 1).size();
    if (count > best_count ||
        (count == best_count && count > 0 && best != nullptr && candidate.at < best->at)) {
      best = &candidate;
      best_count = count;
    }
  }
  if (best == nullptr || best->own) return std::nullopt;
  return best->phrase;
}

}  // namespace gannet::search
