// Term expansion: what of the index stands for a node of the query graph: words of the dictionary,
// and phrases (docs/behaviour/query-analysis.md).
//
// Class 0 is the word itself, the words that it begins, and synonyms; class 1 words with one typo,
// and the word split in two; class 2 words with two typos.
//
// Holds the expansions of each node, looked up when they are first asked for: most searches never
// need the typos of their later words. Typos and splits are kept for later searches of the snapshot
// (index::ExpansionCache). Which way to split a word counts is a matter of documents, so expansion
// asks PhraseMatcher; it knows nothing of the documents of nodes.
//
// Owner: the search (query_evaluator.h). Threads: one owner. Helpers of a ParallelFor of the owner
// may call const functions about classes that were looked up before. Lifetime: dies before all that
// it was made of.
// Cost: class 0 is one look-up, and for a prefix the two ends of its range; few words of a range
// are walked through, unless numbers or fields without typos count. Class 1 walks each dictionary
// with an automaton, class 2 takes ten times as long. A split word is two look-ups for each place
// to split it at, and the documents of the most promising phrases. term_expansion.cc has the
// classes and class 0, term_typos.cc the others.
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

// All of a node, as far as it was looked up. Class 0 tells `short_prefix` and `verbatim`.
struct NodeExpansions {
  std::array<Expansions, kTypoClasses> classes;
  bool short_prefix = false;      // one for which the reference keeps lists of its own
  WordNumber verbatim = kNoWord;  // the word as typed
  bool split_known = false;       // whether it is among the phrases of class 1, if there is one
};

class TermExpansion {
 public:
  TermExpansion(const index::Snapshot& snapshot, const FieldScope& scope, const Graph& graph,
                IndexWords& words, const Postings& postings, const PhraseMatcher& phrases);

  const Graph& graph() const { return graph_; }
  // What was looked up before.
  const NodeExpansions& Of(NodeNumber node) const { return nodes_[node]; }
  // The expansions of one class, looked up if they were not before.
  const Expansions& Class(NodeNumber node, int typo_class);
  // The same, for finding out which documents of `within` match: a split word that none of these
  // documents holds may be left out.
  const Expansions& ClassWithin(NodeNumber node, int typo_class, const DocSet& within);
  // The same, of class 1 without the split word unless that is kept.
  const Expansions& ClassUnsplit(NodeNumber node, int typo_class);

  // Calls sink(Ordinal begin, Ordinal end) for the words of one class in one segment.
  template <typename Sink>
  void ForEachRange(const Expansions& expansions, size_t segment, Sink&& sink) const;
  // Likewise for the words of a step that is no phrase of the query. A verbatim step has the word
  // as typed; a verbatim short prefix still has all of its words.
  // REQUIRES: the classes of the step were looked up.
  template <typename Sink>
  void ForEachRange(const Step& step, size_t segment, Sink&& sink) const;
  // Calls sink(const Phrase&) for the phrases that stand for a word of the query: synonyms, and the
  // word split in two. A phrase of the query and a verbatim step have none.
  // REQUIRES: the classes of the step were looked up.
  template <typename Sink>
  void ForEachPhrase(const Step& step, Sink&& sink) const;
  // Whether some live document holds a word of the range of a class.
  bool HasLiveRange(const Expansions& expansions) const;
  // Words of a class, each counted once per segment.
  uint64_t WordCount(const Expansions& expansions) const;

 private:
  // Two words that a word may be split into.
  struct SplitCandidate {
    Phrase phrase;
    uint64_t bound;  // upper bound of the documents of the phrase
    size_t at;       // where the second word begins, in bytes
    bool own;        // the two are words of the query that were glued
  };
  // What is known of the splits of a node, and what is kept of its class 1 and 2.
  struct Splits {
    std::optional<std::vector<SplitCandidate>> candidates;  // once asked for
    DocSet unsplit;  // documents in which no two of them stand side by side
    std::shared_ptr<const index::ExpansionCache::Entry> cached;
  };

  void ExpandExact(NodeNumber node);
  void ExpandPrefix(NodeNumber node);
  void AddSynonyms(NodeNumber node);
  void ExpandTypos(NodeNumber node, int typo_class);
  // Words with typos only.
  void FindTypos(NodeNumber node, int typo_class);
  void FindSplit(NodeNumber node);
  // The way to split the word that most documents hold.
  std::optional<Phrase> BestSplit(NodeNumber node);
  std::vector<SplitCandidate>& SplitCandidates(NodeNumber node);
  // Whether some of the documents may hold the word split in two. False: no way to split it,
  // whichever is the best one.
  bool MayBeSplit(NodeNumber node, const DocSet& within);
  // Keeps what is known of class 1 and 2 for later searches.
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
