#include "search/query/node_documents.h"

#include <algorithm>
#include <utility>

namespace gannet::search {

NodeDocuments::NodeDocuments(const index::Snapshot& snapshot, const FieldScope& scope,
                             TermExpansion& expansion, const Postings& postings,
                             const PhraseMatcher& phrases)
    : snapshot_(snapshot),
      scope_(scope),
      expansion_(expansion),
      postings_(postings),
      phrases_(phrases),
      nodes_(expansion.graph().nodes().size()) {}

const DocSet& NodeDocuments::Of(NodeNumber node, int typo_class) {
  Found& found = nodes_[node].classes[typo_class];
  if (!found.documents) found.documents = Find(node, typo_class, nullptr);
  return *found.documents;
}

const DocSet& NodeDocuments::Of(NodeNumber node) {
  std::optional<DocSet>& any = nodes_[node].any;
  if (!any) {
    DocSet documents = Of(node, 0);
    for (int typos = 1; typos < kClasses; ++typos) documents |= Of(node, typos);
    any = std::move(documents);
  }
  return *any;
}

DocSet NodeDocuments::Within(NodeNumber node, int typo_class, const DocSet& within) {
  const bool few = within.size() <= DocSetUnion::kRestrictionMax;
  const bool split_known = expansion_.Of(node).split_known;
  if (typo_class < 0) {
    if (nodes_[node].any || (!few && split_known)) return Of(node) & within;
    DocSet documents;
    for (int typos = 0; typos < kClasses; ++typos) documents |= Within(node, typos, within);
    return documents;
  }
  const Expansions& known = expansion_.ClassWithin(node, typo_class, within);
  if (known.empty()) return {};
  Found& found = nodes_[node].classes[typo_class];
  if (found.Has(&within))
    return (found.documents ? *found.documents : found.last->documents) & within;
  // The list of a single word is cut without a copy. The lists of more than half as many words as
  // documents need not be joined.
  const bool one_word = !known.has_range && known.phrases.empty() && known.words.size() == 1;
  const bool complete = typo_class != 1 || expansion_.Of(node).split_known;
  if (!few && !one_word && complete && expansion_.WordCount(known) / 2 < within.size())
    return Of(node, typo_class) & within;
  DocSet documents = Find(node, typo_class, &within);
  if (few || !one_word) found.last = {within, documents};
  return documents;
}

DocSet NodeDocuments::Within(const Step& step, const DocSet& within) {
  if (!step.verbatim) return Within(step.node, step.typos, within);
  if (graph().NodeOf(step).term.phrase) return Within(step.node, 0, within);
  const WordNumber verbatim = expansion_.Of(step.node).verbatim;
  return verbatim == kNoWord ? DocSet()
                             : postings_.WordDocuments(verbatim, scope_.fields(), &within);
}

uint64_t NodeDocuments::Frequency(NodeNumber node, int typo_class) {
  if (typo_class < 0) {
    uint64_t sum = 0;
    for (int c = 0; c < kClasses; ++c) sum += Frequency(node, c);
    return sum;
  }
  const Expansions& known = expansion_.ClassUnsplit(node, typo_class);
  std::optional<uint64_t>& frequency = nodes_[node].classes[typo_class].frequency;
  if (frequency) return *frequency;
  uint64_t sum = 0;
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    expansion_.ForEachRange(known, s, [&](Ordinal begin, Ordinal end) {
      sum += snapshot_.segments[s]->text->PostingBytes(begin, end);
    });
  }
  for (const Phrase& phrase : known.phrases) {
    uint64_t frequency = ~uint64_t{0};
    for (const WordNumber word : phrase.words) {
      if (word != kNoWord) frequency = std::min(frequency, postings_.Frequency(word));
    }
    // A phrase of stop words alone adds no documents to the count.
    if (frequency != ~uint64_t{0}) sum += frequency;
  }
  frequency = sum;
  return sum;
}

uint64_t NodeDocuments::DocumentsMin(NodeNumber node) {
  const Expansions& zero = expansion_.Class(node, 0);
  const Found& found = nodes_[node].classes[0];
  if (found.documents) return found.documents->size();
  if (!scope_.all) return 0;
  uint64_t max = 0;
  for (const WordNumber word : zero.words) max = std::max(max, postings_.DocumentsMin(word));
  return max;
}

void NodeDocuments::Keep(NodeNumber node, int typo_class, const DocSet* within, DocSet found) {
  Found& known = nodes_[node].classes[typo_class];
  if (within == nullptr) {
    known.documents = std::move(found);
  } else {
    known.last = {*within, std::move(found)};
  }
}

bool NodeDocuments::Keeps(NodeNumber node, int typo_class, const DocSet* within) const {
  return nodes_[node].classes[typo_class].Has(within);
}

DocSet NodeDocuments::Find(NodeNumber node, int typo_class, const DocSet* within) {
  const Expansions& expansions = within != nullptr
                                     ? expansion_.ClassWithin(node, typo_class, *within)
                                     : expansion_.Class(node, typo_class);
  const bool tolerant_only = typo_class > 0 || graph()[node].ngram();
  const segment::FieldSet* fields = typo_class == kPartsClass ? &scope_.parts
                                    : tolerant_only           ? scope_.tolerant_fields()
                                                              : scope_.fields();
  WordsBySegment words(snapshot_.segments.size());
  for (size_t s = 0; s < words.size(); ++s) {
    expansion_.ForEachRange(expansions, s,
                            [&](Ordinal begin, Ordinal end) { words[s].emplace_back(begin, end); });
  }
  DocSet documents = postings_.AnyWord(words, fields, within);
  for (const Phrase& phrase : expansions.phrases)
    documents |= phrases_.Documents(phrase, scope_.fields(), within);
  return documents;
}

}  // namespace gannet::search
