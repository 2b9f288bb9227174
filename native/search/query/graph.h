// The query graph: one node per term and per run of two or three words glued together, and for each
// node the words and phrases of the index that may stand for it (docs/behaviour/query-analysis.md).
//
// A word in a script without spaces is a phrase of its characters. It is not glued to other words.
// A synonym of it, or of a run of terms that contains it, is a node of its own beside the phrase.
//
// Expansions and docsets are looked up when they are first asked for: most searches never need the
// typos of their later words.
//
// graph.cc has nodes, words and docsets; graph_expand.cc the expansions; graph_phrases.cc phrases.
//
// Threads: one owner. Helpers of a ParallelFor of the owner may call const functions about classes
// of expansions that were looked up before. Lifetime: dies before the snapshot it reads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bitmap/docset.h"
#include "index/snapshot.h"
#include "search/matching/document_batches.h"
#include "search/query/query.h"

namespace gannet::search {

inline constexpr size_t kPrefixWordsMax = 1000;
inline constexpr size_t kOneTypoWordsMax = 150;
inline constexpr size_t kTwoTypoWordsMax = 50;
inline constexpr uint32_t kNgramSlotsMax = 3;  // terms that are glued together
inline constexpr int kTypoClasses = 3;         // expansions with 0, 1 and 2 typos

inline constexpr Ordinal kNoOrdinal = ~Ordinal{0};

// A word of the index that a query refers to, with its ordinal in each segment (kNoOrdinal where
// absent).
struct IndexWord {
  std::string text;
  std::vector<Ordinal> ordinals;
  bool tolerant = true;  // no number that takes no typos: typo expansions and ngrams may use it
};

using WordNumber = uint32_t;  // of Graph::words()
inline constexpr WordNumber kNoWord = ~WordNumber{0};

// Words of each segment.
using WordsBySegment = std::vector<std::vector<segment::WordRange>>;

struct Phrase {
  std::vector<WordNumber> words;  // kNoWord: a stop word, not checked
  // Its first word that is not a stop word; kNoWord: it has none.
  WordNumber FirstReal() const {
    const auto real =
        std::find_if(words.begin(), words.end(), [](WordNumber word) { return word != kNoWord; });
    return real == words.end() ? kNoWord : *real;
  }
};

// The documents of a phrase as posting lists tell them. No other document matches.
struct PhraseMatches {
  DocSet verified;     // match
  DocSet approximate;  // hold the words; whether they stand side by side must be read
};

struct Expansions {
  bool ready = false;
  std::vector<WordNumber> words;
  std::vector<Phrase> phrases;
  bool has_range = false;                  // class 0 of a prefix term
  std::vector<segment::WordRange> ranges;  // per segment
  std::optional<DocSet> documents;
  // Which documents of `within` match, as was last asked for.
  struct Asked {
    DocSet within, documents;
  };
  std::optional<Asked> asked;
  std::optional<uint64_t> frequency;
  bool empty() const { return words.empty() && phrases.empty() && !has_range; }
  // Keeps `found` as the matching documents of `within` (null: all documents).
  void Know(const DocSet* within, DocSet found) {
    if (within == nullptr) {
      documents = std::move(found);
    } else {
      asked = {*within, std::move(found)};
    }
  }
  // Whether the matching documents of `within` (null: of all documents) are kept.
  bool Knows(const DocSet* within) const {
    return documents || (within != nullptr && asked && within->IsSubsetOf(asked->within));
  }
  // Whether `word` is the only expansion.
  bool IsOnly(WordNumber word) const {
    return words.size() == 1 && words[0] == word && phrases.empty() && !has_range;
  }
};

// Two words that a word may be split into.
struct SplitCandidate {
  Phrase phrase;
  uint64_t bound;  // upper bound of the documents of the phrase
  size_t at;       // where the second word begins, in bytes
  bool own;        // the two are words of the query that were glued
};

struct Node {
  Term term;                   // words of an ngram are its single words
  std::string text;            // glued; empty for phrases and where only synonyms count
  bool synonyms_only = false;  // for a run of terms of which some are phrases of characters; its
                               // words are all of these
  uint32_t first_slot = 0, last_slot = 0;
  uint32_t allowed_typos = 0;
  bool short_prefix = false;  // one for which the reference keeps lists of its own
  WordNumber verbatim = kNoWord;
  std::array<Expansions, kTypoClasses> classes;
  std::optional<DocSet> any;  // union of the classes
  bool split_known = false;   // whether it is among the phrases of class 1, if there is one
  std::optional<std::vector<SplitCandidate>> split_candidates;  // once asked for
  DocSet unsplit;  // documents in which no two of them stand side by side
  std::shared_ptr<const index::ExpansionCache::Entry> cached;  // what is kept of class 1 and 2

  uint32_t slots() const { return last_slot - first_slot + 1; }
  bool ngram() const { return last_slot > first_slot; }
};

// The words of a term as the key of a synonym. REQUIRES: none of them is a stop word.
std::string WordsKey(const Term& term);

// A node on a path: which of its expansions count.
struct Step {
  uint16_t node;  // of Graph::nodes()
  int8_t typos;   // class chosen by the rule typo, -1 before
  bool verbatim;  // narrowed to the word as typed by exactness
  int first_class() const { return typos < 0 ? 0 : typos; }
  int last_class() const { return typos < 0 ? kTypoClasses - 1 : typos; }
  friend bool operator==(const Step&, const Step&) = default;
};

// What a search may look at: fields, and whether expansions respect exact fields.
struct FieldScope {
  bool all = true;             // every searchable field
  segment::FieldSet searched;  // when not all
  bool any_exact = false;      // some searched field or word kind takes no typos
  segment::FieldSet tolerant;  // searched fields that take typos, when any_exact
  bool index_exact = false;    // some field of the index takes no typos
  segment::FieldSet
      index_tolerant;  // fields of the index that take typos: a typo leads to their words only
  bool exact_numbers = false;

  const segment::FieldSet* fields() const { return all ? nullptr : &searched; }
  const segment::FieldSet* tolerant_fields() const { return any_exact ? &tolerant : fields(); }
  bool Searches(FieldId field) const { return all || searched.Has(field); }
};

class Graph {
 public:
  Graph(const index::Snapshot& snapshot, const FieldScope& scope, const ParsedQuery& query);

  std::vector<Node>& nodes() { return nodes_; }
  const std::vector<IndexWord>& words() const { return words_; }
  // kNoOrdinal: the segment does not have it, or it is no word.
  Ordinal OrdinalOf(WordNumber word, size_t segment) const {
    return word == kNoWord ? kNoOrdinal : words_[word].ordinals[segment];
  }
  const index::Snapshot& snapshot() const { return snapshot_; }
  const FieldScope& scope() const { return scope_; }

  // The union over all segments of live documents.
  // within    only these documents are wanted; null: all
  // add       add(size_t segment, const segment::TextReader&, DocSetUnion& out) adds the documents
  //           of one segment; runs on several threads if `lists` is at least SharedListsMin()
  // lists     how many posting lists `add` joins
  template <typename AddSegment>
  DocSet LiveUnion(const DocSet* within, AddSegment&& add, uint64_t lists = 0) const;
  // Adds the documents of `lists` in one segment to `out`. Documents outside `within` may be left
  // out (null: all are added).
  void UnionLists(size_t segment, const segment::WordLists& lists, const DocSet* within,
                  DocSetUnion& out) const;
  // Live documents of `within` (null: all) that hold one of the words in one of `fields` (null:
  // any).
  DocSet WithWords(const WordsBySegment& words, const segment::FieldSet* fields,
                   const DocSet* within) const;
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
  // The documents of `within` that match such a phrase, and possibly others that match it. The
  // result is kept by the address of the phrase, and valid until the phrase is asked for again.
  const DocSet& InPhrase(const Phrase& phrase, const DocSet& within);
  // Documents that match a node by expansions of one class, or of any.
  const DocSet& Documents(Node& node, int typo_class);
  const DocSet& Documents(Node& node);
  // The documents of `within` that match a node; cheaper than Documents() for few.
  // typo_class    a class; -1: any
  DocSet DocumentsWithin(Node& node, int typo_class, const DocSet& within);
  DocSet DocumentsWithin(const Step& step, const DocSet& within);
  // Whether some live document holds a word of the range of a class.
  bool HasLiveRange(const Expansions& expansions) const;
  // Words of a class, each counted once per segment.
  uint64_t WordCount(const Expansions& expansions) const;
  // Grows with the number of documents that match the node by expansions of this class, -1: of any.
  uint64_t Frequency(Node& node, int typo_class);
  // A lower bound of the documents that match the node without a typo.
  uint64_t FewestDocuments(Node& node);
  // The expansions of one class, looked up if they were not before.
  const Expansions& Class(Node& node, int typo_class);
  // Likewise, for finding out which documents of `within` match: a split word that none of these
  // documents holds may be left out.
  const Expansions& ClassWithin(Node& node, int typo_class, const DocSet& within);
  // Documents of `within` (null: all live ones) that have a word at a leading position of any
  // field.
  // mask    bit p stands for position p; p is below segment::kLeadingPositions; not 0
  DocSet WordAtPositions(const IndexWord& word, uint32_t mask, const DocSet* within) const;
  // Documents of `within` (null: all live ones) with a searched field that holds all of the words.
  // length    the number of words of that field, at most segment::kListedLengthMax; 0: any
  DocSet DocumentsTogether(std::span<const WordNumber> words, uint32_t length,
                           const DocSet* within) const;
  // Documents that hold all words of a phrase in `fields` (null: any), and in which the words stand
  // as the phrase wants, in any field.
  // within    only these documents are wanted; null: all live ones
  // enough    that many documents are enough, whichever they are
  static constexpr uint64_t kAll = ~uint64_t{0};
  DocSet PhraseDocuments(const Phrase& phrase, const segment::FieldSet* fields,
                         const DocSet* within = nullptr, uint64_t enough = kAll);
  // An upper bound of the documents of a phrase, in any fields.
  uint64_t MostDocuments(const Phrase& phrase) const;
  // The documents of a phrase as posting lists tell them.
  PhraseMatches PhraseByLists(const Phrase& phrase, const segment::FieldSet* fields,
                              const DocSet* within) const;
  // The documents of a phrase: reads the approximate ones of `matches`, which PhraseByLists gave
  // for the same arguments.
  DocSet VerifyApproximate(const Phrase& phrase, const segment::FieldSet* fields,
                           const DocSet* within, PhraseMatches matches) const;
  // Whether to read only some documents of a phrase now, instead of all at once and keeping the
  // result.
  // documents    the approximate documents of the phrase
  // some         how many of them would be read
  bool PaysToReadSome(const Phrase& phrase, const DocSet& documents, uint64_t some) const;
  // The documents of `documents` in which the words stand as the phrase wants. Reading counts for
  // PaysToReadSome.
  // documents    live, and hold all words of the phrase
  DocSet ReadPhrase(const Phrase& phrase, const DocSet& documents) const;
  // A word of the dictionary with live documents, or kNoWord.
  WordNumber FindWord(std::string_view text);
  DocSet WordDocuments(const IndexWord& word, const segment::FieldSet* fields,
                       const DocSet* within = nullptr) const;
  // The phrase of given words (nullopt: a stop word); nullopt: the index lacks a word.
  std::optional<Phrase> FindPhrase(const std::vector<std::optional<std::string>>& words);

 private:
  struct PhraseWords;
  // Those of `documents`, which the segment has, that are in one of the lists: told from their
  // records.
  std::vector<DocId> ReadLists(size_t segment, const segment::WordLists& lists,
                               const DocSet& documents) const;
  // Documents that hold all the words in `fields`: those of the result (null: all live ones) are no
  // fewer than the ones that match the phrase. with_words: where they are put if they are found
  // here.
  const DocSet* PhraseAmong(const PhraseWords& words, const segment::FieldSet* fields,
                            const DocSet* within, DocSet& with_words) const;
  // Whether it is kept where two words stand. within: the documents that are asked for.
  bool KeepsPair(const PhraseWords& words, const DocSet* within) const;
  // Of a phrase of two words, in what the segment has found (DocSetCache).
  std::string PairKey(size_t segment, const PhraseWords& words) const;
  // Documents of the segment, those of `within` (null: all), that hold both words in one field.
  DocSet SharingField(size_t segment, Ordinal left, Ordinal right, const DocSet* within) const;
  // Of one segment. among: see PhraseAmong.
  PhraseMatches PhraseByLists(size_t segment, const PhraseWords& words, const DocSet* among) const;
  // Those of `among`, documents of the segment that hold all words of the phrase, in which they
  // stand as they must. read: how many of them were read.
  DocSet ReadPhrase(size_t segment, const PhraseWords& words, const DocSet& among, uint64_t enough,
                    uint64_t* read = nullptr) const;
  DocSet ReadPhrase(const PhraseWords& words, std::span<const DocumentBatch> matches) const;
  // The same of two words. among: all live documents that hold them in `fields`.
  DocSet ReadPair(size_t segment, const PhraseWords& words, const segment::FieldSet* fields,
                  const DocSet& among, uint64_t enough) const;
  DocSet FindDocuments(Node& node, int typo_class, const DocSet* within);
  // A run of terms as one node, if there is such: adjacent words are glued together, others have at
  // most synonyms.
  // REQUIRES: several terms, or one phrase.
  std::optional<Node> JoinTerms(std::span<const Term> terms, uint32_t first, uint32_t count) const;
  void AddNode(Node node);
  // What Class gives, but of class 1 without the split word unless that is kept.
  void Expand(Node& node, int typo_class);
  void ExpandExact(Node& node);
  void ExpandTypos(Node& node, int typo_class);
  // Words with typos only. To look for those with two takes ten times as long as for those with
  // one.
  void FindTypos(Node& node, int typo_class);
  void FindSplit(Node& node);
  // Keeps what is known of class 1 and 2 for later searches.
  void KeepTypos(Node& node);
  static std::string TyposKey(const Node& node);
  void ExpandPrefix(Node& node);
  void AddSynonyms(Node& node);
  std::optional<Phrase> Split(Node& node);
  std::vector<SplitCandidate>& SplitCandidates(Node& node);
  // Whether some of the documents may hold the word split in two. False: no way to split it,
  // whichever is the best one.
  bool MayBeSplit(Node& node, const DocSet& within);
  // Grows with the number of documents that hold the word: the bytes of its lists.
  uint64_t Frequency(WordNumber word) const;
  // Documents that hold all of the words, at least one.
  DocSet WordsDocuments(std::vector<WordNumber> words, const segment::FieldSet* fields,
                        const DocSet* within) const;
  // No fewer than the documents that hold the word.
  uint64_t MostDocuments(WordNumber word) const;
  // No fewer than the documents that hold both words; dead ones and all fields count.
  uint64_t MostCommon(WordNumber a, WordNumber b) const;
  // Whether every segment that holds both words lists where the second stands close behind the
  // first.
  bool ListsAdjacency(WordNumber left, WordNumber right) const;
  WordNumber AddWord(std::string_view text, std::vector<Ordinal> ordinals);
  bool IsLive(size_t segment, Ordinal ordinal, const segment::FieldSet* fields) const;
  // Whether words may be glued to this one: some field that takes typos has it.
  bool Tolerates(const IndexWord& word) const;

  const index::Snapshot& snapshot_;
  const FieldScope& scope_;
  std::vector<Node> nodes_;
  std::vector<IndexWord> words_;
  std::map<std::string, WordNumber, std::less<>> numbers_;
  std::map<const Phrase*, Expansions::Asked> in_phrase_;
};

template <typename AddSegment>
DocSet Graph::LiveUnion(const DocSet* within, AddSegment&& add, uint64_t lists) const {
  if (within != nullptr && within->empty()) return {};
  DocSetUnion documents(within);
  if (lists >= SharedListsMin()) {
    std::vector<std::unique_ptr<DocSetUnion>> of_segments;
    for (size_t s = 0; s < snapshot_.segments.size(); ++s)
      of_segments.push_back(std::make_unique<DocSetUnion>(within));
    ParallelFor(of_segments.size(),
                [&](size_t s) { add(s, *snapshot_.segments[s]->text, *of_segments[s]); });
    for (size_t s = 0; s < of_segments.size(); ++s)
      documents.Add(*of_segments[s], *snapshot_.segments[s]->dead_bits);
    return documents.Finish();
  }
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const index::SegmentView& view = *snapshot_.segments[s];
    if (view.all_live()) {
      add(s, *view.text, documents);
    } else {
      DocSetUnion here(within);
      add(s, *view.text, here);
      documents.Add(here, *view.dead_bits);
    }
  }
  return documents.Finish();
}

template <typename Sink>
void Graph::ForEachRange(const Expansions& expansions, size_t segment, Sink&& sink) const {
  for (const WordNumber word : expansions.words) {
    if (const Ordinal ordinal = words_[word].ordinals[segment]; ordinal != kNoOrdinal)
      sink(ordinal, ordinal + 1);
  }
  if (!expansions.has_range) return;
  if (const auto& [begin, end] = expansions.ranges[segment]; begin < end) sink(begin, end);
}

template <typename Sink>
void Graph::ForEachRange(const Step& step, size_t segment, Sink&& sink) const {
  const Node& node = nodes_[step.node];
  if (step.verbatim && node.short_prefix) return ForEachRange(node.classes[0], segment, sink);
  if (step.verbatim) {
    if (const Ordinal ordinal = OrdinalOf(node.verbatim, segment); ordinal != kNoOrdinal)
      sink(ordinal, ordinal + 1);
    return;
  }
  for (int c = step.first_class(); c <= step.last_class(); ++c)
    ForEachRange(node.classes[c], segment, sink);
}

template <typename Sink>
void Graph::ForEachPhrase(const Step& step, Sink&& sink) const {
  const Node& node = nodes_[step.node];
  if (node.term.phrase || step.verbatim) return;
  for (int c = step.first_class(); c <= step.last_class(); ++c) {
    for (const Phrase& phrase : node.classes[c].phrases) sink(phrase);
  }
}

}  // namespace gannet::search
