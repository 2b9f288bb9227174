// Phrases of the graph: those of the query, synonyms of several words, and words split in two.
//
// A document matches a phrase when it holds all its words, and each of them stands where it must
// behind the one or two before it. Of two frequent words that is listed; otherwise the documents
// that hold all words are read. Where precision is byAttribute, they only have to stand in one
// attribute, which is listed of all words.
#include "search/query/graph.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/utf8.h"
#include "search/matching/document_batches.h"
#include "search/matching/large_bucket.h"
#include "search/matching/word_masks.h"

namespace gannet::search {

using segment::DocSetCache;

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
    if (ordinal != kNoOrdinal)
      sum += snapshot_.segments[s]->text->PostingBytes(ordinal, ordinal + 1);
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

uint64_t Graph::MostDocuments(const Phrase& phrase) const {
  uint64_t most = ~uint64_t{0};
  for (const WordNumber word : phrase.words) {
    if (word != kNoWord) most = std::min(most, MostDocuments(word));
  }
  return most;
}

bool Graph::ListsAdjacency(WordNumber left, WordNumber right) const {
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const Ordinal a = words_[left].ordinals[s], b = words_[right].ordinals[s];
    if (a != kNoOrdinal && b != kNoOrdinal && !snapshot_.segments[s]->text->ListsAdjacency(a, b))
      return false;
  }
  return true;
}

DocSet Graph::WordsDocuments(std::vector<WordNumber> words, const segment::FieldSet* fields,
                             const DocSet* within) const {
  // The rarest word first: the others are looked for in its documents.
  std::sort(words.begin(), words.end(),
            [&](WordNumber a, WordNumber b) { return Frequency(a) < Frequency(b); });
  DocSet documents = WordDocuments(words_[words[0]], fields, within);
  for (size_t i = 1; i < words.size() && !documents.empty(); ++i)
    documents = WordDocuments(words_[words[i]], fields, &documents);
  return documents;
}

// What a document must hold to match a phrase.
struct Graph::PhraseWords {
  // Each word must stand behind the one or two before it, no farther than in the phrase.
  struct Behind {
    Role left, right;  // places in `distinct`
    uint32_t distance;
  };
  explicit PhraseWords(const Phrase& phrase);

  std::vector<WordNumber> distinct;
  std::vector<Behind> checks;
  bool gaps = false;  // a stop word is left out
  bool pair = false;  // two different words
};

Graph::PhraseWords::PhraseWords(const Phrase& phrase) {
  const auto role_of = [&](WordNumber word) {
    const auto at = std::find(distinct.begin(), distinct.end(), word);
    const auto role = static_cast<Role>(at - distinct.begin());
    if (at == distinct.end()) distinct.push_back(word);
    return role;
  };
  const auto& words = phrase.words;
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] == kNoWord) {
      gaps = true;
      continue;
    }
    const Role left = role_of(words[i]);
    for (size_t j = i + 1; j <= i + 2 && j < words.size(); ++j) {
      if (words[j] != kNoWord)
        checks.push_back({left, role_of(words[j]), static_cast<uint32_t>(j - i)});
    }
  }
  pair = words.size() == 2 && distinct.size() == 2;
}

DocSet Graph::PhraseDocuments(const Phrase& phrase, const segment::FieldSet* fields,
                              const DocSet* within, uint64_t enough) {
  if (enough == kAll || phrase.words.size() == 1)
    return VerifyApproximate(phrase, fields, within, PhraseByLists(phrase, fields, within));
  const PhraseWords words(phrase);
  if (words.distinct.empty()) return {};
  DocSet with_words;
  const DocSet* const among = PhraseAmong(words, fields, within, with_words);
  const bool kept = KeepsPair(words, within);
  DocSet documents;
  for (size_t s = 0; s < snapshot_.segments.size() && documents.size() < enough; ++s) {
    PhraseMatches here = PhraseByLists(s, words, among);
    documents |= here.verified;
    if (here.approximate.empty() || documents.size() >= enough) continue;
    const uint64_t wanted = enough - documents.size();
    documents |= kept ? ReadPair(s, words, fields, here.approximate, wanted)
                      : ReadPhrase(s, words, here.approximate, wanted);
  }
  return documents;
}

DocSet Graph::VerifyApproximate(const Phrase& phrase, const segment::FieldSet* fields,
                                const DocSet* within, PhraseMatches matches) const {
  if (matches.approximate.empty()) return std::move(matches.verified);
  const PhraseWords words(phrase);
  if (!KeepsPair(words, within))
    return matches.verified | ReadPhrase(words, BatchesOf(snapshot_, matches.approximate));
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const DocSet here = matches.approximate & snapshot_.segments[s]->live;
    if (!here.empty()) matches.verified |= ReadPair(s, words, fields, here, kAll);
  }
  return std::move(matches.verified);
}

bool Graph::KeepsPair(const PhraseWords& words, const DocSet* within) const {
  return words.pair && within == nullptr && !snapshot_.settings->proximity_by_attribute;
}

PhraseMatches Graph::PhraseByLists(const Phrase& phrase, const segment::FieldSet* fields,
                                   const DocSet* within) const {
  const PhraseWords words(phrase);
  PhraseMatches matches;
  if (words.distinct.empty()) return matches;
  if (phrase.words.size() == 1) {
    matches.verified = WordDocuments(words_[words.distinct[0]], fields, within);
    return matches;
  }
  DocSet with_words;
  const DocSet* const among = PhraseAmong(words, fields, within, with_words);
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const PhraseMatches here = PhraseByLists(s, words, among);
    matches.verified |= here.verified;
    matches.approximate |= here.approximate;
  }
  return matches;
}

bool Graph::PaysToReadSome(const Phrase& phrase, const DocSet& documents, uint64_t some) const {
  const PhraseWords words(phrase);
  if (!words.pair) return true;  // never kept
  const auto& segments = snapshot_.segments;
  const uint64_t here = some / segments.size();
  for (size_t s = 0; s < segments.size(); ++s) {
    const uint64_t size = documents.IntersectionSize(segments[s]->live);
    if (size > here && !segments[s]->text->docset_cache().PaysToRead(PairKey(s, words), here,
                                                                     size * DocSetCache::kReadCost))
      return false;
  }
  return true;
}

std::string Graph::PairKey(size_t segment, const PhraseWords& words) const {
  const auto ordinal_of = [&](Role role) { return words_[words.distinct[role]].ordinals[segment]; };
  return DocSetCache::KeyOf(DocSetCache::Kind::kAdjacency,
                            std::array{ordinal_of(0), ordinal_of(1)});
}

DocSet Graph::ReadPhrase(const Phrase& phrase, const DocSet& documents) const {
  const PhraseWords words(phrase);
  const std::vector<DocumentBatch> matches = BatchesOf(snapshot_, documents);
  if (words.pair) {
    for (const DocumentBatch& batch : matches)
      snapshot_.segments[batch.segment]->text->docset_cache().NoteRead(
          PairKey(batch.segment, words), batch.documents.size());
  }
  return ReadPhrase(words, matches);
}

const DocSet* Graph::PhraseAmong(const PhraseWords& words, const segment::FieldSet* fields,
                                 const DocSet* within, DocSet& with_words) const {
  // Adjacency postings have all words of a phrase without gaps, but know no fields.
  const bool lists_suffice =
      !snapshot_.settings->proximity_by_attribute && !words.gaps && fields == nullptr;
  const bool all_listed =
      lists_suffice &&
      std::all_of(words.checks.begin(), words.checks.end(), [&](const auto& check) {
        return ListsAdjacency(words.distinct[check.left], words.distinct[check.right]);
      });
  if (all_listed) return within;
  with_words = WordsDocuments(words.distinct, fields, within);
  return &with_words;
}

DocSet Graph::SharingField(size_t segment, Ordinal left, Ordinal right,
                           const DocSet* within) const {
  const segment::TextReader& text = *snapshot_.segments[segment]->text;
  DocSet sharing;
  text.ForEachField(left, [&](FieldId field, std::string_view postings) {
    DocSetUnion of_field(within);
    of_field.AddPostings(postings);
    const DocSet documents = of_field.Finish();
    if (documents.empty()) return;
    text.ForEachField(right, [&](FieldId other, std::string_view list) {
      if (other == field) IntersectPostings(list, documents, sharing);
    });
  });
  return sharing;
}

PhraseMatches Graph::PhraseByLists(size_t segment, const PhraseWords& words,
                                   const DocSet* among) const {
  PhraseMatches matches;
  const index::SegmentView& view = *snapshot_.segments[segment];
  const auto ordinal_of = [&](Role role) { return words_[words.distinct[role]].ordinals[segment]; };
  if (std::any_of(words.distinct.begin(), words.distinct.end(),
                  [&](WordNumber word) { return words_[word].ordinals[segment] == kNoOrdinal; })) {
    return matches;
  }
  DocSet here;
  if (among != nullptr) here = *among & view.live;
  const DocSet* limit = among != nullptr ? &here : view.all_live() ? nullptr : &view.live;
  // Of frequent words it is listed how far one stands behind the other, of all words in which
  // fields they stand.
  const bool by_attribute = snapshot_.settings->proximity_by_attribute;
  bool listed = true;
  for (const auto& check : words.checks) {
    if (limit != nullptr && limit->empty()) break;
    if (by_attribute) {
      here = SharingField(segment, ordinal_of(check.left), ordinal_of(check.right), limit);
      limit = &here;
      continue;
    }
    if (!view.text->ListsAdjacency(ordinal_of(check.left), ordinal_of(check.right))) {
      listed = false;
      continue;
    }
    DocSetUnion close(limit);
    for (uint32_t distance = 1; distance <= check.distance; ++distance) {
      view.text->UnionAdjacency(ordinal_of(check.left), ordinal_of(check.right), distance, close);
    }
    here = close.Finish();
    limit = &here;
  }
  if (!listed && words.pair) {
    if (const auto known = view.text->docset_cache().Find(PairKey(segment, words))) {
      here &= *known;
      listed = true;
    }
  }
  (listed ? matches.verified : matches.approximate) = std::move(here);
  return matches;
}

DocSet Graph::ReadPair(size_t segment, const PhraseWords& words, const segment::FieldSet* fields,
                       const DocSet& among, uint64_t enough) const {
  // Kept for the next search: where two words stand depends on the segment alone.
  constexpr uint64_t kKeptDocumentsMin = 256;
  const index::SegmentView& view = *snapshot_.segments[segment];
  const uint64_t size = among.size();
  if (size < std::min(kKeptDocumentsMin, LargeBucketMin()))
    return ReadPhrase(segment, words, among, enough);
  const DocSetCache& sets = view.text->docset_cache();
  const std::string key = PairKey(segment, words);
  // Where some are enough, all are read once those that were have come to as many.
  if (enough < size && sets.PaysToRead(key, enough, size * DocSetCache::kReadCost)) {
    uint64_t read = 0;
    DocSet some = ReadPhrase(segment, words, among, enough, &read);
    sets.NoteRead(key, read);
    if (some.size() < enough && fields == nullptr) sets.StoreRead(key, some);
    return some;
  }
  const DocSet all = ReadPhrase(
      segment, words,
      fields == nullptr ? among : WordsDocuments(words.distinct, nullptr, &view.live), kAll);
  sets.StoreRead(key, all);
  return all & among;
}

DocSet Graph::ReadPhrase(size_t segment, const PhraseWords& words, const DocSet& among,
                         uint64_t enough, uint64_t* read) const {
  std::vector<DocumentBatch> matches;
  if (enough >= among.size()) {
    if (read != nullptr) *read = among.size();
    AppendBatches(segment, among, among.size(), matches);
    return ReadPhrase(words, matches);
  }
  // Each step reads as many documents as all before.
  std::vector<DocId> docids;
  among.ToVector(docids);
  DocSet found;
  for (size_t begin = 0, end = 64; begin < docids.size() && found.size() < enough;
       begin = end, end = 2 * begin) {
    end = std::min(end, docids.size());
    if (read != nullptr) *read = end;
    matches.clear();
    AppendBatches(segment, DocSet::FromSorted(std::span(docids).subspan(begin, end - begin)),
                  end - begin, matches);
    found |= ReadPhrase(words, matches);
  }
  return found;
}

DocSet Graph::ReadPhrase(const PhraseWords& words, std::span<const DocumentBatch> matches) const {
  const auto read = [&](const DocumentBatch& batch, std::vector<DocId>& found) {
    const segment::TextReader& text = *snapshot_.segments[batch.segment]->text;
    WordMasks masks(text, words.distinct.size());
    for (Role role = 0; role < words.distinct.size(); ++role)
      masks.Add(role, words_[words.distinct[role]].ordinals[batch.segment]);
    masks.Seal();
    text.ForEachRecord(batch.documents, [&](DocId docid, std::string_view record) {
      if (!masks.Read(record)) return;
      for (const auto& check : words.checks) {
        if (masks.Distance(check.left, check.right) > check.distance) return;
      }
      found.push_back(docid);
    });
  };
  DocSet documents;
  for (const auto& found : ReadBatches<DocId>(matches, read))
    documents |= DocSet::FromSorted(found);
  return documents;
}

uint64_t Graph::MostCommon(WordNumber a, WordNumber b) const {
  uint64_t sum = 0;
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const Ordinal left = words_[a].ordinals[s], right = words_[b].ordinals[s];
    if (left != kNoOrdinal && right != kNoOrdinal)
      sum += snapshot_.segments[s]->text->CommonDocuments(left, right);
  }
  return sum;
}

std::vector<SplitCandidate>& Graph::SplitCandidates(Node& node) {
  if (node.split_candidates) return *node.split_candidates;
  std::vector<SplitCandidate>& candidates = node.split_candidates.emplace();
  const bool joined = node.ngram() && node.term.words.size() == 2;
  for (size_t at = 0; at < node.text.size();) {
    DecodeUtf8(node.text, at);
    if (at >= node.text.size()) break;
    const WordNumber left = FindWord(std::string_view(node.text).substr(0, at));
    if (left == kNoWord) continue;
    const WordNumber right = FindWord(std::string_view(node.text).substr(at));
    if (right == kNoWord) continue;
    const bool own = joined && words_[left].text == *node.term.words[0];
    candidates.push_back(
        {{{left, right}}, std::min(MostDocuments(left), MostDocuments(right)), at, own});
  }
  return candidates;
}

bool Graph::MayBeSplit(Node& node, const DocSet& within) {
  // Of a word that is often asked for it is found out once and for all.
  constexpr uint32_t kSparedMax = 8;
  const std::vector<SplitCandidate>& candidates = SplitCandidates(node);
  if (candidates.empty()) return true;  // that is known at once
  if (within.IsSubsetOf(node.unsplit)) return false;
  if (node.cached->spared.fetch_add(1, std::memory_order_relaxed) >= kSparedMax) return true;
  for (const SplitCandidate& candidate : candidates) {
    // Two words of the query that were joined are not split into themselves.
    if (!candidate.own && !PhraseDocuments(candidate.phrase, nullptr, &within, 1).empty())
      return true;
  }
  node.unsplit = within;
  return false;
}

std::optional<Phrase> Graph::Split(Node& node) {
  std::vector<SplitCandidate>& candidates = SplitCandidates(node);
  if (candidates.size() > 1) {
    for (SplitCandidate& candidate : candidates) {
      const WordNumber left = candidate.phrase.words[0], right = candidate.phrase.words[1];
      if (!ListsAdjacency(left, right))
        candidate.bound = std::min(candidate.bound, MostCommon(left, right));
    }
  }
  // The one with the most documents wins, whatever fields are searched, the earliest among equals.
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.bound > b.bound; });
  // Two words of the query that were joined are not split into themselves: if that has the most
  // documents, there is no split. That is looked at last: often nothing else is possible.
  const auto own = std::find_if(candidates.begin(), candidates.end(),
                                [](const auto& candidate) { return candidate.own; });
  if (own != candidates.end()) std::rotate(own, own + 1, candidates.end());
  const SplitCandidate* best = nullptr;
  uint64_t best_count = 0;
  for (size_t i = 0; i < candidates.size(); ++i) {
    const SplitCandidate& candidate = candidates[i];
    if (candidate.bound < std::max<uint64_t>(best_count, 1)) continue;
    // More than all others have, or may have, is enough to know.
    uint64_t others = best_count;
    for (size_t j = i + 1; j < candidates.size(); ++j)
      others = std::max(others, candidates[j].bound);
    const uint64_t count = PhraseDocuments(candidate.phrase, nullptr, nullptr, others + 1).size();
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
