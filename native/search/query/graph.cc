#include "search/query/graph.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/utf8.h"
#include "search/matching/word_masks.h"
#include "search/query/synonyms.h"

namespace gannet::search {

Graph::Graph(const index::Snapshot& snapshot, const FieldScope& scope, const ParsedQuery& query)
    : snapshot_(snapshot), scope_(scope) {
  const auto& terms = query.terms;
  for (uint32_t slot = 0; slot < terms.size(); ++slot) {
    Node node;
    node.term = terms[slot];
    node.first_slot = node.last_slot = slot;
    if (!node.term.phrase) node.text = *node.term.words[0];
    AddNode(std::move(node));
  }
  for (uint32_t first = 0; first < terms.size(); ++first) {
    for (uint32_t count = terms[first].phrase ? 1 : 2;
         count <= kNgramSlotsMax && first + count <= terms.size(); ++count) {
      if (auto node = JoinTerms(terms, first, count)) AddNode(std::move(*node));
    }
  }
}

std::optional<Node> Graph::JoinTerms(std::span<const Term> terms, uint32_t first,
                                     uint32_t count) const {
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
    if (SynonymTable::Of(snapshot_)->Find(WordsKey(node.term)) == nullptr) return std::nullopt;
    return node;
  }
  if (node.text.size() > kWordBytesMax) return std::nullopt;
  node.term.prefix = terms[first + count - 1].prefix;
  return node;
}

void Graph::AddNode(Node node) {
  const auto& settings = *snapshot_.settings;
  if (!node.term.phrase && !node.synonyms_only && settings.typo_enabled &&
      !SynonymTable::Of(snapshot_)->TyposDisabled(node.text)) {
    const size_t length = CountChars(node.text);
    const uint32_t allowed = length < settings.one_typo ? 0 : length < settings.two_typos ? 1 : 2;
    const uint32_t glue = node.last_slot - node.first_slot;
    node.allowed_typos = allowed > glue ? allowed - glue : 0;
  }
  nodes_.push_back(std::move(node));
}

bool Graph::IsLive(size_t segment, Ordinal ordinal, const segment::FieldSet* fields) const {
  const index::SegmentView& view = *snapshot_.segments[segment];
  if (view.all_live() && fields == nullptr) return true;
  return view.text->HasLive(ordinal, fields, view.all_live() ? nullptr : &view.live);
}

bool Graph::Tolerates(const IndexWord& word) const {
  if (!word.tolerant || !scope_.index_exact) return word.tolerant;
  for (size_t s = 0; s < word.ordinals.size(); ++s) {
    if (word.ordinals[s] != kNoOrdinal && IsLive(s, word.ordinals[s], &scope_.index_tolerant))
      return true;
  }
  return false;
}

WordNumber Graph::AddWord(std::string_view text, std::vector<Ordinal> ordinals) {
  const auto number = static_cast<WordNumber>(words_.size());
  const bool numeric = scope_.exact_numbers && text::IsNumericWord(text);
  words_.push_back({std::string(text), std::move(ordinals), !numeric});
  numbers_.emplace(std::string(text), number);
  return number;
}

WordNumber Graph::FindWord(std::string_view text) {
  if (text.empty() || text.size() > kWordBytesMax) return kNoWord;
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  std::vector<Ordinal> ordinals(snapshot_.segments.size(), kNoOrdinal);
  bool any = false;
  for (size_t s = 0; s < ordinals.size(); ++s) {
    const auto ordinal = snapshot_.segments[s]->text->terms().Find(text);
    if (!ordinal || !IsLive(s, *ordinal, nullptr)) continue;
    ordinals[s] = *ordinal;
    any = true;
  }
  return any ? AddWord(text, std::move(ordinals)) : kNoWord;
}

DocSet Graph::WordDocuments(const IndexWord& word, const segment::FieldSet* fields,
                            const DocSet* within) const {
  return LiveUnion(within, [&](size_t s, const segment::TextReader& text, DocSetUnion& out) {
    if (word.ordinals[s] != kNoOrdinal) text.UnionPostings(word.ordinals[s], fields, out);
  });
}

void Graph::UnionLists(size_t segment, const segment::WordLists& lists, const DocSet* within,
                       DocSetUnion& out) const {
  const index::SegmentView& view = *snapshot_.segments[segment];
  // For few documents the lists of many words are not joined.
  const uint64_t to_join = within == nullptr ? 0 : view.text->ListsToJoin(lists);
  const bool read =
      to_join > 0 && view.text->PaysToRead(lists, to_join, within->IntersectionSize(view.live));
  if (!read) return view.text->UnionLists(lists, out);
  out.Add(ReadLists(segment, lists, *within & view.live));
}

std::vector<DocId> Graph::ReadLists(size_t segment, const segment::WordLists& lists,
                                    const DocSet& documents) const {
  const segment::TextReader& text = *snapshot_.segments[segment]->text;
  WordMasks masks(text, 1);
  for (const auto& [begin, end] : lists.words) masks.AddRange(0, begin, end);
  masks.Seal();
  const auto any = [&](uint32_t begin, uint32_t end) {
    return masks.First(0, begin, end) != WordMasks::kNone;
  };
  const auto listed = [&] {
    if (lists.leading_positions == 0) {
      if (lists.fields == nullptr) return any(0, masks.size());
      return masks.AnyField([&](FieldId field, uint32_t begin, uint32_t end) {
        return lists.fields->Has(field) && any(begin, end);
      });
    }
    for (const WordMasks::Run& run : masks.runs()) {
      uint32_t position = run.position;
      for (uint32_t at = run.begin; at < run.end && position < segment::kLeadingPositions;
           ++at, ++position) {
        if ((lists.leading_positions >> position & 1) != 0 && any(at, at + 1)) return true;
      }
    }
    return false;
  };
  std::vector<DocId> found;
  text.ForEachRecord(documents, [&](DocId docid, std::string_view record) {
    if (masks.Read(record) && listed()) found.push_back(docid);
  });
  return found;
}

const DocSet& Graph::Documents(Node& node, int typo_class) {
  Expansions& expansions = node.classes[typo_class];
  if (!expansions.documents) expansions.documents = FindDocuments(node, typo_class, nullptr);
  return *expansions.documents;
}

DocSet Graph::DocumentsWithin(Node& node, int typo_class, const DocSet& within) {
  const bool few = within.size() <= DocSetUnion::kAskedMax;
  if (typo_class < 0) {
    if (node.any || (!few && node.split_known)) return Documents(node) & within;
    DocSet documents;
    for (int typos = 0; typos < kTypoClasses; ++typos)
      documents |= DocumentsWithin(node, typos, within);
    return documents;
  }
  const Expansions& known = ClassWithin(node, typo_class, within);
  if (known.empty()) return {};
  if (known.Knows(&within))
    return (known.documents ? *known.documents : known.asked->documents) & within;
  // The list of one word is cut down where it lies. Those of many more words than half as many
  // documents need not be joined.
  const bool one_word = !known.has_range && known.phrases.empty() && known.words.size() == 1;
  const bool complete = typo_class != 1 || node.split_known;
  if (!few && !one_word && complete && WordCount(known) / 2 < within.size())
    return Documents(node, typo_class) & within;
  DocSet documents = FindDocuments(node, typo_class, &within);
  if (few || !one_word) node.classes[typo_class].asked = {within, documents};
  return documents;
}

DocSet Graph::DocumentsWithin(const Step& step, const DocSet& within) {
  Node& node = nodes_[step.node];
  if (!step.verbatim) return DocumentsWithin(node, step.typos, within);
  if (node.term.phrase) return DocumentsWithin(node, 0, within);
  return node.verbatim == kNoWord ? DocSet()
                                  : WordDocuments(words_[node.verbatim], scope_.fields(), &within);
}

const DocSet& Graph::InPhrase(const Phrase& phrase, const DocSet& within) {
  Expansions::Asked& known = in_phrase_[&phrase];
  if (known.within.empty() || !within.IsSubsetOf(known.within)) {
    // Where two words stand is kept for all documents.
    const bool kept = phrase.words.size() == 2;
    known = {within, PhraseDocuments(phrase, scope_.fields(), kept ? nullptr : &within)};
  }
  return known.documents;
}

bool Graph::HasLiveRange(const Expansions& expansions) const {
  if (!expansions.has_range) return false;
  for (size_t s = 0; s < expansions.ranges.size(); ++s) {
    const auto& [begin, end] = expansions.ranges[s];
    for (Ordinal ordinal = begin; ordinal < end; ++ordinal) {
      if (IsLive(s, ordinal, nullptr)) return true;
    }
  }
  return false;
}

uint64_t Graph::WordCount(const Expansions& expansions) const {
  uint64_t count = 0;
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    ForEachRange(expansions, s, [&](Ordinal begin, Ordinal end) { count += end - begin; });
  }
  return count;
}

uint64_t Graph::Frequency(Node& node, int typo_class) {
  if (typo_class < 0) return Frequency(node, 0) + Frequency(node, 1) + Frequency(node, 2);
  Expand(node, typo_class);
  const Expansions& known = node.classes[typo_class];
  if (known.frequency) return *known.frequency;
  uint64_t sum = 0;
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    ForEachRange(known, s, [&](Ordinal begin, Ordinal end) {
      sum += snapshot_.segments[s]->text->PostingBytes(begin, end);
    });
  }
  for (const Phrase& phrase : known.phrases) {
    uint64_t least = ~uint64_t{0};
    for (const WordNumber word : phrase.words) {
      if (word != kNoWord) least = std::min(least, Frequency(word));
    }
    // Of stop words alone it has no documents of its own to count.
    if (least != ~uint64_t{0}) sum += least;
  }
  node.classes[typo_class].frequency = sum;
  return sum;
}

uint64_t Graph::FewestDocuments(Node& node) {
  const Expansions& zero = Class(node, 0);
  if (zero.documents) return zero.documents->size();
  if (!scope_.all) return 0;
  uint64_t most = 0;
  for (const WordNumber word : zero.words) {
    uint64_t sum = 0;
    for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
      const index::SegmentView& view = *snapshot_.segments[s];
      const Ordinal ordinal = words_[word].ordinals[s];
      if (ordinal == kNoOrdinal) continue;
      const uint64_t count = view.text->CountDocuments(ordinal).least, dead = view.dead.size();
      sum += count > dead ? count - dead : 0;
    }
    most = std::max(most, sum);
  }
  return most;
}

DocSet Graph::WithWords(const WordsBySegment& words, const segment::FieldSet* fields,
                        const DocSet* within) const {
  uint64_t to_join = 0;
  for (size_t s = 0; s < words.size(); ++s)
    to_join += snapshot_.segments[s]->text->ListsToJoin({words[s], fields});
  const auto add = [&](size_t s, const segment::TextReader&, DocSetUnion& out) {
    UnionLists(s, {words[s], fields}, within, out);
  };
  return LiveUnion(within, add, to_join);
}

DocSet Graph::FindDocuments(Node& node, int typo_class, const DocSet* within) {
  const Expansions& expansions =
      within != nullptr ? ClassWithin(node, typo_class, *within) : Class(node, typo_class);
  const bool tolerant_only = typo_class > 0 || node.ngram();
  const segment::FieldSet* fields = tolerant_only ? scope_.tolerant_fields() : scope_.fields();
  WordsBySegment words(snapshot_.segments.size());
  for (size_t s = 0; s < words.size(); ++s) {
    ForEachRange(expansions, s,
                 [&](Ordinal begin, Ordinal end) { words[s].emplace_back(begin, end); });
  }
  DocSet documents = WithWords(words, fields, within);
  for (const Phrase& phrase : expansions.phrases) {
    documents |= PhraseDocuments(phrase, scope_.fields(), within);
  }
  return documents;
}

DocSet Graph::WordAtPositions(const IndexWord& word, uint32_t mask, const DocSet* within) const {
  assert(mask != 0);
  return LiveUnion(within, [&](size_t s, const segment::TextReader& text, DocSetUnion& out) {
    const Ordinal ordinal = word.ordinals[s];
    const segment::WordRange range(ordinal, ordinal + 1);
    if (ordinal != kNoOrdinal)
      text.UnionLists({.words = {&range, 1}, .leading_positions = mask}, out);
  });
}

DocSet Graph::DocumentsTogether(std::span<const WordNumber> words, uint32_t length,
                                const DocSet* within) const {
  return LiveUnion(within, [&](size_t s, const segment::TextReader& text, DocSetUnion& out) {
    const auto ordinal_of = [&](WordNumber word) { return words_[word].ordinals[s]; };
    if (std::any_of(words.begin(), words.end(),
                    [&](WordNumber word) { return ordinal_of(word) == kNoOrdinal; }))
      return;
    text.ForEachField(ordinal_of(words[0]), [&](FieldId field, std::string_view postings) {
      if (!scope_.Searches(field)) return;
      DocSetUnion of_field(within);
      of_field.AddPostings(postings);
      DocSet documents = of_field.Finish();
      for (size_t i = 1; i < words.size() && !documents.empty(); ++i) {
        DocSet both;
        text.ForEachField(ordinal_of(words[i]), [&](FieldId other, std::string_view list) {
          if (other == field) IntersectPostings(list, documents, both);
        });
        documents = std::move(both);
      }
      if (length > 0 && !documents.empty()) {
        DocSetUnion of_length;
        text.lengths().Union(field, length, of_length);
        documents &= of_length.Finish();
      }
      out.Add(std::move(documents));
    });
  });
}

const DocSet& Graph::Documents(Node& node) {
  if (!node.any) {
    DocSet any = Documents(node, 0);
    for (int typos = 1; typos < kTypoClasses; ++typos) any |= Documents(node, typos);
    node.any = std::move(any);
  }
  return *node.any;
}

}  // namespace gannet::search
