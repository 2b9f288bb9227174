// Expansions of a node: the words and phrases of the index that may stand for it
// (docs/behaviour/query-analysis.md).
//
// Class 0 is the word itself, the words that it begins, and synonyms; class 1 words with one typo,
// and the word split in two; class 2 words with two typos.
#include "search/query/graph.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "fst/levenshtein.h"
#include "search/query/synonyms.h"

namespace gannet::search {
namespace {

constexpr size_t kShortPrefixBytes = 4;
constexpr size_t kShortPrefixWordsMin = 100;
constexpr size_t kSynonymsMax = 50;
constexpr size_t kSynonymWordsMax = 100;
constexpr size_t kWordListSynonymsMax = 1000;  // of a key of several words

}  // namespace

std::string WordsKey(const Term& term) {
  std::string key;
  for (const auto& word : term.words) {
    if (!key.empty()) key += ' ';
    key += *word;
  }
  return key;
}

const Expansions& Graph::Class(Node& node, int typo_class) {
  Expand(node, typo_class);
  if (typo_class == 1 && !node.split_known) FindSplit(node);
  return node.classes[typo_class];
}

const Expansions& Graph::ClassWithin(Node& node, int typo_class, const DocSet& within) {
  if (typo_class != 1) return Class(node, typo_class);
  Expand(node, 1);
  return node.split_known || MayBeSplit(node, within) ? Class(node, 1) : node.classes[1];
}

void Graph::Expand(Node& node, int typo_class) {
  if (node.classes[typo_class].ready) return;
  if (typo_class == 0) {
    ExpandExact(node);
  } else {
    ExpandTypos(node, typo_class);
  }
}

void Graph::ExpandExact(Node& node) {
  Expansions& zero = node.classes[0];
  zero.ready = true;
  if (node.term.phrase) {
    if (auto phrase = FindPhrase(node.term.words)) zero.phrases.push_back(std::move(*phrase));
    return;
  }
  if (!node.synonyms_only && node.text.size() <= kWordBytesMax) {
    const WordNumber word = FindWord(node.text);
    if (word != kNoWord && (!node.ngram() || Tolerates(words_[word]))) zero.words.push_back(word);
    if (!node.ngram()) node.verbatim = word;
    if (node.term.prefix) ExpandPrefix(node);
  }
  AddSynonyms(node);
}

void Graph::ExpandPrefix(Node& node) {
  Expansions& zero = node.classes[0];
  const size_t segments = snapshot_.segments.size();
  zero.ranges.assign(segments, {0, 0});
  size_t total = 0;
  for (size_t s = 0; s < segments; ++s) {
    zero.ranges[s] = snapshot_.segments[s]->text->terms().PrefixRange(node.text);
    total += zero.ranges[s].second - zero.ranges[s].first;
  }
  if (total == 0) return;
  zero.has_range = true;
  // Numbers that take no typos are not what words are glued to, nor are words of attributes without
  // typos alone: each word of the range is looked at. Of the latter no document counts anyway; they
  // are told apart for marking, which leaves short prefixes out.
  const bool no_numbers = node.ngram() && scope_.exact_numbers;
  const bool plain_words = no_numbers || (node.ngram() && scope_.index_exact);
  const bool may_be_short = node.text.size() <= kShortPrefixBytes;
  // Whether the limits matter is known from the sizes, mostly without looking at the words.
  size_t largest = 0;
  for (const auto& [begin, end] : zero.ranges) largest = std::max<size_t>(largest, end - begin);
  const bool any_dead = std::any_of(snapshot_.segments.begin(), snapshot_.segments.end(),
                                    [](const auto& s) { return !s->all_live(); });
  if (may_be_short && largest >= kShortPrefixWordsMin && !any_dead) {
    node.short_prefix = true;
    if (!no_numbers) return;
  } else if (!may_be_short && total <= kPrefixWordsMax && !plain_words) {
    return;
  } else if (may_be_short && total < kShortPrefixWordsMin && !plain_words) {
    return;
  }
  // Words in order over all segments, live ones only, up to the limit.
  std::vector<fst::Fst::Iterator> at;
  for (size_t s = 0; s < segments; ++s)
    at.push_back(snapshot_.segments[s]->text->terms().SeekOrdinal(zero.ranges[s].first));
  size_t count = 0;
  std::vector<std::pair<std::string, std::vector<Ordinal>>> listed;
  std::string word;
  while (count < kPrefixWordsMax + 1 || may_be_short) {
    bool any = false;
    for (size_t s = 0; s < segments; ++s) {
      if (!at[s].Valid() || at[s].ordinal() >= zero.ranges[s].second) continue;
      if (!any || at[s].word() < word) word = at[s].word();
      any = true;
    }
    if (!any) break;
    std::vector<Ordinal> ordinals(segments, kNoOrdinal);
    bool live = false;
    for (size_t s = 0; s < segments; ++s) {
      if (!at[s].Valid() || at[s].ordinal() >= zero.ranges[s].second || at[s].word() != word)
        continue;
      if (IsLive(s, at[s].ordinal(), nullptr)) {
        ordinals[s] = at[s].ordinal();
        live = true;
      }
      at[s].Next();
    }
    if (!live) continue;
    ++count;
    if (plain_words || count <= kPrefixWordsMax) listed.emplace_back(word, std::move(ordinals));
    // A short prefix with enough words has no limit.
    if (may_be_short && count >= kShortPrefixWordsMin && !no_numbers) break;
  }
  if (may_be_short && count >= kShortPrefixWordsMin) {
    node.short_prefix = true;
    if (!no_numbers) return;
  }
  if (!node.short_prefix && count > kPrefixWordsMax) {
    // The range ends behind the last word that counts.
    const auto& last = listed[kPrefixWordsMax - 1].first;
    for (size_t s = 0; s < segments; ++s) {
      auto after = snapshot_.segments[s]->text->terms().Seek(last + '\0');
      const Ordinal end =
          after.Valid() ? after.ordinal() : snapshot_.segments[s]->text->terms().size();
      zero.ranges[s].second = std::min(zero.ranges[s].second, std::max(end, zero.ranges[s].first));
    }
  }
  if (plain_words) {
    zero.has_range = false;
    // The one behind the limit only told that there is one.
    if (!node.short_prefix && listed.size() > kPrefixWordsMax) listed.pop_back();
    for (auto& [text, ordinals] : listed) {
      if (text == node.text) continue;  // the word itself is there already
      const auto known = numbers_.find(text);
      const WordNumber number =
          known != numbers_.end() ? known->second : AddWord(text, std::move(ordinals));
      if (Tolerates(words_[number])) zero.words.push_back(number);
    }
  }
}

void Graph::AddSynonyms(Node& node) {
  const auto table = SynonymTable::Of(snapshot_);
  if (table->empty()) return;
  const auto add = [&](const std::vector<std::string>& words) {
    std::vector<std::optional<std::string>> list(words.begin(), words.end());
    if (auto phrase = FindPhrase(list)) node.classes[0].phrases.push_back(std::move(*phrase));
  };
  const std::string words = WordsKey(node.term);
  size_t total = 0;
  if (const auto* values = table->Find(node.ngram() ? node.text : words)) {
    for (size_t i = 0; i < values->size() && i < kSynonymsMax; ++i) {
      if (total + (*values)[i].size() > kSynonymWordsMax) continue;
      total += (*values)[i].size();
      add((*values)[i]);
    }
  }
  if (!node.ngram()) return;
  if (const auto* values = table->Find(words)) {
    for (size_t i = 0; i < values->size() && i < kWordListSynonymsMax; ++i) add((*values)[i]);
  }
}

void Graph::ExpandTypos(Node& node, int typo_class) {
  Expand(node, typo_class - 1);
  Expansions& expansions = node.classes[typo_class];
  expansions.ready = true;
  if (node.term.phrase || node.synonyms_only || node.text.size() > kWordBytesMax) {
    node.split_known = true;
    return;
  }
  using index::ExpansionCache;
  if (node.cached == nullptr) node.cached = snapshot_.expansion_cache.Find(TyposKey(node));
  if (node.cached == nullptr || !node.cached->typos[typo_class - 1]) {
    FindTypos(node, typo_class);
    return KeepTypos(node);
  }
  const auto number_of = [&](const ExpansionCache::Word& word) {
    const auto known = numbers_.find(word.text);
    return known != numbers_.end() ? known->second : AddWord(word.text, word.ordinals);
  };
  for (const ExpansionCache::Word& word : *node.cached->typos[typo_class - 1])
    expansions.words.push_back(number_of(word));
  if (typo_class != 1) return;
  node.split_known = node.cached->split_known;
  if (const auto& split = node.cached->split)
    expansions.phrases.push_back({{number_of(split->first), number_of(split->second)}});
}

void Graph::FindSplit(Node& node) {
  if (auto split = Split(node)) node.classes[1].phrases.push_back(std::move(*split));
  node.split_known = true;
  KeepTypos(node);
}

void Graph::KeepTypos(Node& node) {
  using index::ExpansionCache;
  const auto word_of = [&](WordNumber number) {
    return ExpansionCache::Word{words_[number].text, words_[number].ordinals};
  };
  auto entry = std::make_shared<ExpansionCache::Entry>();
  for (size_t typos = 0; typos < entry->typos.size(); ++typos) {
    const Expansions& expansions = node.classes[typos + 1];
    if (expansions.ready) {
      auto& words = entry->typos[typos].emplace();
      for (const WordNumber word : expansions.words) words.push_back(word_of(word));
    } else if (node.cached != nullptr) {
      entry->typos[typos] = node.cached->typos[typos];
    }
  }
  entry->split_known = node.split_known;
  for (const Phrase& phrase : node.classes[1].phrases)
    entry->split = {word_of(phrase.words[0]), word_of(phrase.words[1])};
  if (node.cached != nullptr) entry->spared = node.cached->spared.load(std::memory_order_relaxed);
  snapshot_.expansion_cache.Store(TyposKey(node), entry);
  node.cached = std::move(entry);
}

std::string Graph::TyposKey(const Node& node) {
  // All else that decides belongs to the snapshot.
  std::string key = node.text;
  key += '\0';
  key += static_cast<char>(node.allowed_typos << 1 | (node.term.prefix ? 1 : 0));
  if (node.ngram() && node.term.words.size() == 2) key += *node.term.words[0];
  return key;
}

void Graph::FindTypos(Node& node, int typo_class) {
  if (node.allowed_typos < static_cast<uint32_t>(typo_class)) return;
  // Of one typo, the first character is none. With another first character one edit counts for two.
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
  std::vector<WordNumber>& words = node.classes[typo_class].words;
  std::string word;
  while (words.size() < words_max) {
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
          IsLive(s, streams[s].ordinal(), scope_.index_exact ? &scope_.index_tolerant : nullptr)) {
        live = true;
      }
      streams[s].Next();
    }
    if (!live || distance == 0) continue;
    if (typo_class == 2 && !std::string_view(word).starts_with(first_char)) distance = 2;
    if (distance != typo_class) continue;
    if (const WordNumber number = FindWord(word); number != kNoWord) words.push_back(number);
  }
}

}  // namespace gannet::search
