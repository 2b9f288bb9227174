#include "search/query/term_expansion.h"

#include <algorithm>
#include <utility>

#include "base/stop_point.h"
#include "search/query/synonyms.h"

namespace gannet::search {
namespace {

constexpr size_t kShortPrefixBytes = 4;
constexpr size_t kShortPrefixWordsMin = 100;
constexpr size_t kSynonymsMax = 50;
constexpr size_t kSynonymWordsMax = 100;
constexpr size_t kWordListSynonymsMax = 1000;  // for a key of several words

// Iterates over the words of live documents in ranges of the dictionaries, in order over all
// segments.
class LiveWords {
 public:
  // ranges    by segment
  LiveWords(const index::Snapshot& snapshot, const IndexWords& words,
            const std::vector<segment::WordRange>& ranges)
      : words_(words), ranges_(ranges) {
    for (size_t s = 0; s < ranges.size(); ++s)
      at_.push_back(snapshot.segments[s]->text->terms().SeekOrdinal(ranges[s].first));
  }

  // Moves to the next word. Returns false at the end.
  bool Next();
  const std::string& word() const { return word_; }
  // The ordinals of the word by segment; kNoOrdinal if no live document has it. The caller may move
  // them out.
  std::vector<Ordinal>& ordinals() { return ordinals_; }

 private:
  bool Valid(size_t s) const { return at_[s].Valid() && at_[s].ordinal() < ranges_[s].second; }

  const IndexWords& words_;
  const std::vector<segment::WordRange>& ranges_;
  std::vector<fst::Fst::Iterator> at_;  // by segment
  std::string word_;
  std::vector<Ordinal> ordinals_;
  StopCounter counter_;
};

bool LiveWords::Next() {
  for (;;) {
    counter_.Step(64 * at_.size());
    bool any = false;
    for (size_t s = 0; s < at_.size(); ++s) {
      if (!Valid(s)) continue;
      if (!any || at_[s].word() < word_) word_ = at_[s].word();
      any = true;
    }
    if (!any) return false;
    ordinals_.assign(at_.size(), kNoOrdinal);
    bool live = false;
    for (size_t s = 0; s < at_.size(); ++s) {
      if (!Valid(s) || at_[s].word() != word_) continue;
      if (words_.IsLive(s, at_[s].ordinal(), nullptr)) {
        ordinals_[s] = at_[s].ordinal();
        live = true;
      }
      at_[s].Next();
    }
    if (live) return true;
  }
}

}  // namespace

TermExpansion::TermExpansion(const index::Snapshot& snapshot, const FieldScope& scope,
                             const Graph& graph, IndexWords& words, const Postings& postings,
                             const PhraseMatcher& phrases)
    : snapshot_(snapshot),
      scope_(scope),
      graph_(graph),
      words_(words),
      postings_(postings),
      phrases_(phrases),
      nodes_(graph.nodes().size()),
      splits_(graph.nodes().size()) {}

const Expansions& TermExpansion::Class(NodeNumber node, int typo_class) {
  const Expansions& expansions = ClassUnsplit(node, typo_class);
  if (typo_class == 1 && !nodes_[node].split_known) FindSplit(node);
  return expansions;
}

const Expansions& TermExpansion::ClassWithin(NodeNumber node, int typo_class,
                                             const DocSet& within) {
  const Expansions& expansions = ClassUnsplit(node, typo_class);
  if (typo_class == 1 && !nodes_[node].split_known && MayBeSplit(node, within)) FindSplit(node);
  return expansions;
}

const Expansions& TermExpansion::ClassUnsplit(NodeNumber node, int typo_class) {
  const Expansions& expansions = nodes_[node].classes[typo_class];
  if (expansions.ready) return expansions;
  const StepGuard whole;
  if (typo_class == 0) {
    ExpandExact(node);
  } else if (typo_class == kPartsClass) {
    ExpandParts(node);
  } else {
    ExpandTypos(node, typo_class);
  }
  return expansions;
}

void TermExpansion::ExpandExact(NodeNumber number) {
  const Node& node = graph_[number];
  NodeExpansions& of_node = nodes_[number];
  Expansions& zero = of_node.classes[0];
  zero.ready = true;
  if (node.term.phrase) {
    if (auto phrase = words_.FindPhrase(node.term.words))
      zero.phrases.push_back(std::move(*phrase));
    return;
  }
  if (!node.synonyms_only && node.text.size() <= kWordBytesMax) {
    const WordNumber word = words_.Find(node.text);
    if (word != kNoWord && (!node.ngram() || words_.Tolerates(word))) zero.words.push_back(word);
    if (!node.ngram()) of_node.verbatim = word;
    if (node.term.prefix) ExpandPrefix(number);
  }
  AddSynonyms(number);
}

void TermExpansion::ExpandPrefix(NodeNumber number) {
  const Node& node = graph_[number];
  bool& short_prefix = nodes_[number].short_prefix;
  Expansions& zero = nodes_[number].classes[0];
  size_t total = 0, largest = 0;
  bool any_dead = false;
  for (const auto& segment : snapshot_.segments) {
    const auto& [begin, end] =
        zero.ranges.emplace_back(segment->text->terms().PrefixRange(node.text));
    total += end - begin;
    largest = std::max<size_t>(largest, end - begin);
    any_dead = any_dead || !segment->all_live();
  }
  if (total == 0) return;
  zero.has_range = true;
  // Words are not concatenated to numbers that allow no typos, nor to words found only in
  // attributes without typos, so each word of the range must be checked. The latter have no
  // documents here anyway; they are excluded for highlighting, where short prefixes are left out.
  const bool no_numbers = node.ngram() && scope_.exact_numbers;
  const bool plain_words = no_numbers || (node.ngram() && scope_.index_exact);
  const bool may_be_short = node.text.size() <= kShortPrefixBytes;
  // The sizes show whether the limits matter, mostly without looking at the words.
  if (may_be_short && largest >= kShortPrefixWordsMin && !any_dead) {
    short_prefix = true;
    if (!no_numbers) return;
  } else if (!plain_words && total <= (may_be_short ? kShortPrefixWordsMin - 1 : kPrefixWordsMax)) {
    return;
  }
  // Reads the words up to the limit, and whether there is one more. A short prefix with enough
  // words has no limit.
  LiveWords live(snapshot_, words_, zero.ranges);
  std::vector<std::pair<std::string, std::vector<Ordinal>>> listed;
  size_t count = 0;
  while ((count <= kPrefixWordsMax || may_be_short) && live.Next()) {
    ++count;
    if (plain_words || count <= kPrefixWordsMax)
      listed.emplace_back(live.word(), std::move(live.ordinals()));
    if (may_be_short && count >= kShortPrefixWordsMin && !no_numbers) break;
  }
  if (may_be_short && count >= kShortPrefixWordsMin) {
    short_prefix = true;
    if (!no_numbers) return;
  }
  if (!short_prefix && count > kPrefixWordsMax) {
    const std::string& last = listed[kPrefixWordsMax - 1].first;
    for (size_t s = 0; s < zero.ranges.size(); ++s) {
      const fst::Fst& terms = snapshot_.segments[s]->text->terms();
      auto& [begin, end] = zero.ranges[s];
      const auto after = terms.Seek(last + '\0');
      end = std::min(end, std::max(after.Valid() ? after.ordinal() : terms.size(), begin));
    }
  }
  if (!plain_words) return;
  zero.has_range = false;
  if (!short_prefix && listed.size() > kPrefixWordsMax) listed.pop_back();
  for (auto& [text, ordinals] : listed) {
    if (text == node.text) continue;  // the word itself is already included
    const WordNumber word = words_.Add(text, std::move(ordinals));
    if (words_.Tolerates(word)) zero.words.push_back(word);
  }
}

void TermExpansion::AddSynonyms(NodeNumber number) {
  const SynonymTable& table = graph_.synonyms();
  if (table.empty()) return;
  const Node& node = graph_[number];
  const auto add = [&](const std::vector<std::string>& words) {
    std::vector<std::optional<std::string>> list(words.begin(), words.end());
    if (auto phrase = words_.FindPhrase(list))
      nodes_[number].classes[0].phrases.push_back(std::move(*phrase));
  };
  const std::string words = WordsKey(node.term);
  size_t total = 0;
  if (const auto* values = table.Find(node.ngram() ? node.text : words)) {
    for (size_t i = 0; i < values->size() && i < kSynonymsMax; ++i) {
      if (total + (*values)[i].size() > kSynonymWordsMax) continue;
      total += (*values)[i].size();
      add((*values)[i]);
    }
  }
  if (!node.ngram()) return;
  if (const auto* values = table.Find(words)) {
    for (size_t i = 0; i < values->size() && i < kWordListSynonymsMax; ++i) add((*values)[i]);
  }
}

bool TermExpansion::HasLiveRange(const Expansions& expansions) const {
  if (!expansions.has_range) return false;
  StopCounter counter;
  for (size_t s = 0; s < expansions.ranges.size(); ++s) {
    const auto& [begin, end] = expansions.ranges[s];
    for (Ordinal ordinal = begin; ordinal < end; ++ordinal) {
      counter.Step(16);
      if (words_.IsLive(s, ordinal, nullptr)) return true;
    }
  }
  return false;
}

uint64_t TermExpansion::WordCount(const Expansions& expansions) const {
  uint64_t count = 0;
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    ForEachRange(expansions, s, [&](Ordinal begin, Ordinal end) { count += end - begin; });
  }
  return count;
}

}  // namespace gannet::search
