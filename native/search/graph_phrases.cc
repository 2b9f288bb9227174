// Phrases of the graph: those of the query, synonyms of several words, and words split in two.
//
// A document matches a phrase when it holds all its words, and each of them stands where it must behind the one or two
// before it. Of two frequent words that is listed; otherwise the documents that hold all words are read.
#include "search/graph.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "search/word_masks.h"

namespace gannet::search {

std::optional<Phrase> Graph::FindPhrase(const std::vector<std::optional<std::string>>& words) {
  Phrase phrase;
  for (const auto& word : words) {
    if (!word) {
      phrase.words.push_back(kNoWord);
      continue;
    }
    const WordNumber number = FindWord(*word);
    if (number == kNoWord) return std::nullopt;
    phrase.words.push_back(number);
  }
  return phrase;
}

uint64_t Graph::Frequency(WordNumber word) const {
  uint64_t sum = 0;
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const Ordinal ordinal = words_[word].ordinals[s];
    if (ordinal != kNoOrdinal) sum += snapshot_.segments[s]->text->PostingBytes(ordinal, ordinal + 1);
  }
  return sum;
}

uint64_t Graph::MostDocuments(WordNumber word) const {
  uint64_t sum = 0;
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const Ordinal ordinal = words_[word].ordinals[s];
    if (ordinal != kNoOrdinal) sum += snapshot_.segments[s]->text->CountDocuments(ordinal).most;
  }
  return sum;
}

bool Graph::ListsNeighbours(WordNumber left, WordNumber right) const {
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const Ordinal a = words_[left].ordinals[s], b = words_[right].ordinals[s];
    if (a != kNoOrdinal && b != kNoOrdinal && !snapshot_.segments[s]->text->ListsNeighbours(a, b)) return false;
  }
  return true;
}

DocSet Graph::WordsDocuments(std::vector<WordNumber> words, const segment::FieldSet* fields, const DocSet* within) const {
  // The rarest word first: the others are looked for in its documents.
  std::sort(words.begin(), words.end(), [&](WordNumber a, WordNumber b) { return Frequency(a) < Frequency(b); });
  DocSet documents = WordDocuments(words_[words[0]], fields, within);
  for (size_t i = 1; i < words.size() && !documents.empty(); ++i) documents = WordDocuments(words_[words[i]], fields, &documents);
  return documents;
}

DocSet Graph::PhraseDocuments(const Phrase& phrase, const segment::FieldSet* fields, const DocSet* within) {
  // All words in these fields; then where they stand decides.
  std::vector<WordNumber> distinct;
  bool gaps = false;
  for (const WordNumber word : phrase.words) {
    gaps = gaps || word == kNoWord;
    if (word != kNoWord && std::find(distinct.begin(), distinct.end(), word) == distinct.end()) distinct.push_back(word);
  }
  if (distinct.empty()) return {};
  if (phrase.words.size() == 1) return WordDocuments(words_[distinct[0]], fields, within);
  const bool by_attribute = snapshot_.settings->proximity_by_attribute;
  // Each word must stand behind the one or two before it, no farther than in the phrase.
  struct Behind {
    Role left, right;  // places in `distinct`
    uint32_t distance;
  };
  std::vector<Behind> checks;
  const auto role_of = [&](WordNumber word) {
    return static_cast<Role>(std::find(distinct.begin(), distinct.end(), word) - distinct.begin());
  };
  for (size_t i = 0; i < phrase.words.size(); ++i) {
    for (size_t j = i + 1; j <= i + 2 && j < phrase.words.size(); ++j) {
      const WordNumber left = phrase.words[i], right = phrase.words[j];
      if (left != kNoWord && right != kNoWord) checks.push_back({role_of(left), role_of(right), static_cast<uint32_t>(j - i)});
    }
  }
  // The lists of neighbours have all words of a phrase without gaps, but know no fields.
  const bool lists_suffice = !by_attribute && !gaps && fields == nullptr;
  const bool all_listed = lists_suffice && std::all_of(checks.begin(), checks.end(), [&](const Behind& check) {
    return ListsNeighbours(distinct[check.left], distinct[check.right]);
  });
  DocSet documents;
  if (!all_listed) {
    documents = WordsDocuments(distinct, fields, within);
    if (documents.empty()) return {};
    within = &documents;
  }
  std::vector<uint32_t> kept;
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const index::SegmentView& view = *snapshot_.segments[s];
    const auto ordinal_of = [&](Role role) { return words_[distinct[role]].ordinals[s]; };
    if (std::any_of(distinct.begin(), distinct.end(), [&](WordNumber word) { return words_[word].ordinals[s] == kNoOrdinal; })) continue;
    DocSet here = within != nullptr ? *within & view.live : view.live;
    if (here.empty()) continue;
    // Of frequent words it is listed how far one stands behind the other.
    bool listed = !by_attribute;
    for (const Behind& check : checks) {
      if (by_attribute || here.empty()) break;
      if (!view.text->ListsNeighbours(ordinal_of(check.left), ordinal_of(check.right))) {
        listed = false;
        continue;
      }
      DocSetUnion close(&here);
      for (uint32_t distance = 1; distance <= check.distance; ++distance) {
        view.text->UnionNeighbours(ordinal_of(check.left), ordinal_of(check.right), distance, close);
      }
      here = close.Finish();
    }
    if (here.empty()) continue;
    if (listed) {
      here.ToVector(kept);
      continue;
    }
    // Two neighbouring words are kept for the next search: where they stand depends on the segment alone.
    const bool pair = phrase.words.size() == 2 && distinct.size() == 2 && !by_attribute;
    using segment::FoundSets;
    const Ordinal left_ordinal = ordinal_of(0), right_ordinal = pair ? ordinal_of(1) : 0;
    if (pair) {
      if (const auto known = view.text->found().Find(FoundSets::Kind::kNeighbours, left_ordinal, right_ordinal)) {
        (*known & here).ToVector(kept);
        continue;
      }
    }
    constexpr size_t kKeptDocumentsMin = 256;
    const bool keep = pair && here.size() >= kKeptDocumentsMin;
    DocSet looked_at = here;
    if (keep && fields != nullptr) {
      looked_at = WordDocuments(words_[distinct[0]], nullptr) & WordDocuments(words_[distinct[1]], nullptr) & view.live;
    }
    const size_t kept_before = kept.size();
    WordMasks masks(*view.text, distinct.size());
    for (Role role = 0; role < distinct.size(); ++role) masks.Add(role, ordinal_of(role));
    masks.Seal();
    view.text->ForEachRecord(looked_at, [&](uint32_t docid, std::string_view record) {
      if (!masks.Read(record)) return;
      for (const Behind& check : checks) {
        const bool follows = by_attribute ? masks.ShareField(check.left, check.right)
                                          : masks.Distance(check.left, check.right) <= check.distance;
        if (!follows) return;
      }
      kept.push_back(docid);
    });
    if (keep) {
      DocSet found = DocSet::FromSorted(std::span(kept).subspan(kept_before));
      if (fields != nullptr) {
        kept.resize(kept_before);
        (found & here).ToVector(kept);
      }
      view.text->found().Store(FoundSets::Kind::kNeighbours, left_ordinal, right_ordinal, std::move(found));
    }
  }
  std::sort(kept.begin(), kept.end());
  return DocSet::FromSorted(kept);
}

uint64_t Graph::MostCommon(WordNumber a, WordNumber b) const {
  uint64_t sum = 0;
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const Ordinal left = words_[a].ordinals[s], right = words_[b].ordinals[s];
    if (left != kNoOrdinal && right != kNoOrdinal) sum += snapshot_.segments[s]->text->CommonDocuments(left, right);
  }
  return sum;
}

std::optional<Phrase> Graph::Split(const Node& node) {
  struct Candidate {
    Phrase phrase;
    uint64_t bound;  // no fewer than its documents
    size_t at;
  };
  std::vector<Candidate> candidates;
  for (size_t at = 0; at < node.text.size();) {
    DecodeUtf8(node.text, at);
    if (at >= node.text.size()) break;
    const WordNumber left = FindWord(std::string_view(node.text).substr(0, at));
    if (left == kNoWord) continue;
    const WordNumber right = FindWord(std::string_view(node.text).substr(at));
    if (right == kNoWord) continue;
    candidates.push_back({{{left, right}}, std::min(MostDocuments(left), MostDocuments(right)), at});
  }
  // The one with the most documents wins, whatever fields are searched, the earliest among equals. Those of few documents
  // mostly need not be looked for.
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.bound > b.bound; });
  // Two words of the query that were joined are not split into themselves: if that has the most documents, there is no
  // split.
  const Candidate* own = nullptr;
  const Candidate* best = nullptr;
  uint64_t best_count = 0;
  const auto take = [&](const Candidate& candidate) {
    const WordNumber left = candidate.phrase.words[0], right = candidate.phrase.words[1];
    const uint64_t wanted = std::max<uint64_t>(best_count, 1);
    if (candidate.bound < wanted || (!ListsNeighbours(left, right) && MostCommon(left, right) < wanted)) return;
    const uint64_t count = PhraseDocuments(candidate.phrase, nullptr).size();
    if (count > best_count || (count == best_count && count > 0 && best != nullptr && candidate.at < best->at)) {
      best = &candidate;
      best_count = count;
    }
  };
  const bool joined = node.ngram() && node.term.words.size() == 2;
  for (const Candidate& candidate : candidates) {
    if (joined && words_[candidate.phrase.words[0]].text == *node.term.words[0]) {
      own = &candidate;
    } else {
      take(candidate);
    }
  }
  if (best != nullptr && own != nullptr) take(*own);
  if (best == nullptr || best == own) return std::nullopt;
  return best->phrase;
}

}  // namespace gannet::search
