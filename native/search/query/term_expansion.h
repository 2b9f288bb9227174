// Term expansion: finds what stands for a node of the query graph in the index: words of the
// dictionary, and phrases (docs/behaviour/query-analysis.md).
//
// The classes of expansions:
//   0  the word itself, the words that begin with it if it is a prefix, and synonyms
//   1  words with one typo, and the word split in two
//   2  words with two typos
//   3  words of the fields of `substringAttributes` that contain the word
//
// The expansions of a node are looked up when they are first requested: most searches never need
// the typos of their later words. Typos and splits are cached for later searches of the snapshot
// (index::ExpansionCache). The best way to split a word depends on documents, so expansion uses
// PhraseMatcher; it does not know the documents of nodes.
//
// Owner: the search (query_evaluator.h). Threads: one owner. While the owner runs a ParallelFor,
// its helpers may call const functions for classes that were looked up before. Lifetime: must be
// destroyed before everything passed to the constructor.
// Cost: class 0 is one lookup, and for a prefix two more for the ends of its range; if the range is
// small, or if numbers or fields without typos count, its words are visited one by one. Class 1
// runs an automaton over each dictionary; class 2 takes ten times as long; class 3 reads
// the lists of some triples (segment/triples.h) and compares the words in them. A split takes two
// lookups for each position to split at, and the documents of the most promising phrases.
// term_expansion.cc has the classes and class 0, term_typos.cc the typos, term_parts.cc class 3.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bitmap/docset.h"
#include "index/expansion_cache.h"
#include "index/snapshot.h"
#include "search/matching/field_scope.h"
#include "search/matching/index_words.h"
#include "search/matching/phrase_matcher.h"
#include "search/matching/postings.h"
#include "search/query/graph.h"

namespace gannet::search {

inline constexpr size_t kPrefixWordsMax = 1000;
inline constexpr size_t kOneTypoWordsMax = 150;
inline constexpr size_t kTwoTypoWordsMax = 50;
inline constexpr size_t kPartWordsMax = 1000;

// Expansions of one class.
struct Expansions {
  bool ready = false;
  std::vector<WordNumber> words;
  std::vector<Phrase> phrases;
  bool has_range = false;                  // class 0 of a prefix term
  std::vector<segment::WordRange> ranges;  // per segment
  bool empty() const { return words.empty() && phrases.empty() && !has_range; }
  // Whether `word` is the only expansion.
  bool IsOnly(WordNumber word) const {
    return words.size() == 1 && words[0] == word && phrases.empty() && !has_range;
  }
};

// The expansions of a node looked up so far. Class 0 sets `short_prefix` and `verbatim`.
struct NodeExpansions {
  std::array<Expansions, kClasses> classes;
  bool short_prefix = false;  // the reference implementation keeps separate lists for this prefix
  WordNumber verbatim = kNoWord;  // the word as typed
  bool split_known = false;       // whether class 1 includes the split word, if there is one
};

class TermExpansion {
 public:
  TermExpansion(const index::Snapshot& snapshot, const FieldScope& scope, const Graph& graph,
                IndexWords& words, const Postings& postings, const PhraseMatcher& phrases);

  const Graph& graph() const { return graph_; }
  // The expansions looked up so far.
  const NodeExpansions& Of(NodeNumber node) const { return nodes_[node]; }
  // The expansions of one class, looked up if necessary.
  const Expansions& Class(NodeNumber node, int typo_class);
  // The same, to find which documents of `within` match: may omit the split word if none of these
  // documents contains it.
  const Expansions& ClassWithin(NodeNumber node, int typo_class, const DocSet& within);
  // The same for class 1, without the split word unless it is cached.
  const Expansions& ClassUnsplit(NodeNumber node, int typo_class);

  // Calls sink(Ordinal begin, Ordinal end) for the words of one class in one segment.
  template <typename Sink>
  void ForEachRange(const Expansions& expansions, size_t segment, Sink&& sink) const;
  // The same for the words of a step that is not a phrase of the query. A verbatim step has only
  // the word as typed; a verbatim short prefix still has all of its words.
  // REQUIRES: the classes of the step were looked up.
  template <typename Sink>
  void ForEachRange(const Step& step, size_t segment, Sink&& sink) const;
  // Calls sink(const Phrase&) for the phrases that stand for a word of the query: synonyms, and the
  // word split in two. A phrase of the query and a verbatim step have none.
  // REQUIRES: the classes of the step were looked up.
  template <typename Sink>
  void ForEachPhrase(const Step& step, Sink&& sink) const;
  // Whether some live document contains a word of the range of a class.
  bool HasLiveRange(const Expansions& expansions) const;
  // The number of words of a class, each counted once per segment.
  uint64_t WordCount(const Expansions& expansions) const;

 private:
  // Two words that a word may be split into.
  struct SplitCandidate {
    Phrase phrase;
    uint64_t bound;  // upper bound for the number of documents of the phrase
    size_t at;       // byte offset of the second word
    bool own;        // the two words are concatenated words of the query
  };
  // The known splits of a node, and the cache entry for its classes 1 and 2.
  struct Splits {
    std::optional<std::vector<SplitCandidate>> candidates;  // set on first use
    DocSet unsplit;  // documents in which no candidate is adjacent
    std::shared_ptr<const index::ExpansionCache::Entry> cached;
  };

  void ExpandExact(NodeNumber node);
  void ExpandPrefix(NodeNumber node);
  void AddSynonyms(NodeNumber node);
  void ExpandTypos(NodeNumber node, int typo_class);
  // Finds the words with typos, without the split word.
  void FindTypos(NodeNumber node, int typo_class);
  void FindSplit(NodeNumber node);
  void ExpandParts(NodeNumber node);
  // The split that most documents contain.
  std::optional<Phrase> BestSplit(NodeNumber node);
  std::vector<SplitCandidate>& SplitCandidates(NodeNumber node);
  // Whether some of the documents may contain the word split in two. False: no split matches,
  // whichever is the best.
  bool MayBeSplit(NodeNumber node, const DocSet& within);
  // Caches classes 1 and 2 for later searches.
  void KeepTypos(NodeNumber node);

  const index::Snapshot& snapshot_;
  const FieldScope& scope_;
  const Graph& graph_;
  IndexWords& words_;
  const Postings& postings_;
  const PhraseMatcher& phrases_;
  std::vector<NodeExpansions> nodes_;  // by node
  std::vector<Splits> splits_;         // by node
};

template <typename Sink>
void TermExpansion::ForEachRange(const Expansions& expansions, size_t segment, Sink&& sink) const {
  for (const WordNumber word : expansions.words) {
    if (const Ordinal ordinal = words_.OrdinalOf(word, segment); ordinal != kNoOrdinal)
      sink(ordinal, ordinal + 1);
  }
  if (!expansions.has_range) return;
  if (const auto& [begin, end] = expansions.ranges[segment]; begin < end) sink(begin, end);
}

template <typename Sink>
void TermExpansion::ForEachRange(const Step& step, size_t segment, Sink&& sink) const {
  const NodeExpansions& node = nodes_[step.node];
  if (step.verbatim && node.short_prefix) return ForEachRange(node.classes[0], segment, sink);
  if (step.verbatim) {
    if (const Ordinal ordinal = words_.OrdinalOf(node.verbatim, segment); ordinal != kNoOrdinal)
      sink(ordinal, ordinal + 1);
    return;
  }
  for (int c = step.first_class(); c <= step.last_class(); ++c)
    ForEachRange(node.classes[c], segment, sink);
}

template <typename Sink>
void TermExpansion::ForEachPhrase(const Step& step, Sink&& sink) const {
  if (graph_.NodeOf(step).term.phrase || step.verbatim) return;
  for (int c = step.first_class(); c <= step.last_class(); ++c) {
    for (const Phrase& phrase : nodes_[step.node].classes[c].phrases) sink(phrase);
  }
}

}  // namespace gannet::search
