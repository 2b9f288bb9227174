#include "search/matching/phrase_matcher.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "search/matching/large_bucket.h"
#include "search/matching/word_masks.h"

namespace gannet::search {

using segment::DocSetCache;

namespace {

// The documents of a segment, within `within` (null: all), that contain both words in one field.
DocSet SharingField(const segment::TextReader& text, Ordinal left, Ordinal right,
                    const DocSet* within) {
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

}  // namespace

uint64_t PhraseMatcher::DocumentsMax(const Phrase& phrase) const {
  uint64_t max = ~uint64_t{0};
  for (const WordNumber word : phrase.words) {
    if (word != kNoWord) max = std::min(max, postings_.DocumentsMax(word));
  }
  return max;
}

// What a document must contain to match a phrase.
struct PhraseMatcher::PhraseWords {
  // Each word must follow the one or two words before it, at most as far away as in the phrase.
  struct Behind {
    Role left, right;  // indexes into `distinct`
    uint32_t distance;
  };
  explicit PhraseWords(const Phrase& phrase);

  std::vector<WordNumber> distinct;
  std::vector<Behind> checks;
  bool gaps = false;  // the phrase has a stop word
  bool pair = false;  // two different words
};

PhraseMatcher::PhraseWords::PhraseWords(const Phrase& phrase) {
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

DocSet PhraseMatcher::Documents(const Phrase& phrase, const segment::FieldSet* fields,
                                const DocSet* within, uint64_t enough) const {
  if (enough == kAll || phrase.words.size() == 1)
    return VerifyApproximate(phrase, fields, within, ByLists(phrase, fields, within));
  const PhraseWords words(phrase);
  if (words.distinct.empty()) return {};
  DocSet with_words;
  const DocSet* const among = Among(words, fields, within, with_words);
  const bool kept = KeepsPair(words, within);
  DocSet documents;
  for (size_t s = 0; s < snapshot_.segments.size() && documents.size() < enough; ++s) {
    PhraseMatches here = ByLists(s, words, among);
    documents |= here.verified;
    if (here.approximate.empty() || documents.size() >= enough) continue;
    const uint64_t wanted = enough - documents.size();
    documents |= kept ? ReadPair(s, words, fields, here.approximate, wanted)
                      : Read(s, words, here.approximate, wanted);
  }
  return documents;
}

DocSet PhraseMatcher::VerifyApproximate(const Phrase& phrase, const segment::FieldSet* fields,
                                        const DocSet* within, PhraseMatches matches) const {
  if (matches.approximate.empty()) return std::move(matches.verified);
  const PhraseWords words(phrase);
  if (!KeepsPair(words, within))
    return matches.verified | Read(words, BatchesOf(snapshot_, matches.approximate));
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const DocSet here = matches.approximate & snapshot_.segments[s]->live;
    if (!here.empty()) matches.verified |= ReadPair(s, words, fields, here, kAll);
  }
  return std::move(matches.verified);
}

bool PhraseMatcher::KeepsPair(const PhraseWords& words, const DocSet* within) const {
  return words.pair && within == nullptr && !snapshot_.settings->proximity_by_attribute;
}

PhraseMatches PhraseMatcher::ByLists(const Phrase& phrase, const segment::FieldSet* fields,
                                     const DocSet* within) const {
  const PhraseWords words(phrase);
  PhraseMatches matches;
  if (words.distinct.empty()) return matches;
  if (phrase.words.size() == 1) {
    matches.verified = postings_.WordDocuments(words.distinct[0], fields, within);
    return matches;
  }
  DocSet with_words;
  const DocSet* const among = Among(words, fields, within, with_words);
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const PhraseMatches here = ByLists(s, words, among);
    matches.verified |= here.verified;
    matches.approximate |= here.approximate;
  }
  return matches;
}

const DocSet& PhraseMatcher::MatchingWithin(const Phrase& phrase, const DocSet& within) {
  LastResult& known = last_results_[&phrase];
  if (known.within.empty() || !within.IsSubsetOf(known.within)) {
    // The positions of two words are cached for all documents.
    const bool kept = phrase.words.size() == 2;
    known = {within, Documents(phrase, scope_.fields(), kept ? nullptr : &within)};
  }
  return known.documents;
}

bool PhraseMatcher::PaysToReadSome(const Phrase& phrase, const DocSet& documents,
                                   uint64_t some) const {
  const PhraseWords words(phrase);
  if (!words.pair) return true;  // never cached
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

std::string PhraseMatcher::PairKey(size_t segment, const PhraseWords& words) const {
  const auto ordinal_of = [&](Role role) {
    return words_.OrdinalOf(words.distinct[role], segment);
  };
  return DocSetCache::KeyOf(DocSetCache::Kind::kAdjacency,
                            std::array{ordinal_of(0), ordinal_of(1)});
}

DocSet PhraseMatcher::Read(const Phrase& phrase, const DocSet& documents) const {
  const PhraseWords words(phrase);
  const std::vector<DocumentBatch> matches = BatchesOf(snapshot_, documents);
  if (words.pair) {
    for (const DocumentBatch& batch : matches)
      snapshot_.segments[batch.segment]->text->docset_cache().NoteRead(
          PairKey(batch.segment, words), batch.documents.size());
  }
  return Read(words, matches);
}

const DocSet* PhraseMatcher::Among(const PhraseWords& words, const segment::FieldSet* fields,
                                   const DocSet* within, DocSet& with_words) const {
  // Adjacency postings cover all words of a phrase without gaps, but not their fields.
  const bool lists_suffice =
      !snapshot_.settings->proximity_by_attribute && !words.gaps && fields == nullptr;
  const bool all_listed =
      lists_suffice &&
      std::all_of(words.checks.begin(), words.checks.end(), [&](const auto& check) {
        return postings_.ListsAdjacency(words.distinct[check.left], words.distinct[check.right]);
      });
  if (all_listed) return within;
  with_words = postings_.AllWords(words.distinct, fields, within);
  return &with_words;
}

PhraseMatches PhraseMatcher::ByLists(size_t segment, const PhraseWords& words,
                                     const DocSet* among) const {
  PhraseMatches matches;
  const index::SegmentView& view = *snapshot_.segments[segment];
  const auto ordinal_of = [&](Role role) {
    return words_.OrdinalOf(words.distinct[role], segment);
  };
  if (std::any_of(words.distinct.begin(), words.distinct.end(),
                  [&](WordNumber word) { return words_.OrdinalOf(word, segment) == kNoOrdinal; })) {
    return matches;
  }
  DocSet here;
  if (among != nullptr) here = *among & view.live;
  const DocSet* limit = among != nullptr ? &here : view.all_live() ? nullptr : &view.live;
  // The index lists how far one frequent word follows another; for all words it lists their fields.
  const bool by_attribute = snapshot_.settings->proximity_by_attribute;
  bool listed = true;
  for (const auto& check : words.checks) {
    if (limit != nullptr && limit->empty()) break;
    if (by_attribute) {
      here = SharingField(*view.text, ordinal_of(check.left), ordinal_of(check.right), limit);
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

DocSet PhraseMatcher::ReadPair(size_t segment, const PhraseWords& words,
                               const segment::FieldSet* fields, const DocSet& among,
                               uint64_t enough) const {
  // Cached for later searches, because it depends on the segment alone.
  constexpr uint64_t kKeptDocumentsMin = 256;
  const index::SegmentView& view = *snapshot_.segments[segment];
  const uint64_t size = among.size();
  if (size < std::min(kKeptDocumentsMin, LargeBucketMin()))
    return Read(segment, words, among, enough);
  const DocSetCache& sets = view.text->docset_cache();
  const std::string key = PairKey(segment, words);
  // If some documents are enough, all are read once the documents already read add up to as many.
  if (enough < size && sets.PaysToRead(key, enough, size * DocSetCache::kReadCost)) {
    uint64_t read = 0;
    DocSet some = Read(segment, words, among, enough, &read);
    sets.NoteRead(key, read);
    if (some.size() < enough && fields == nullptr) sets.StoreRead(key, some);
    return some;
  }
  const DocSet all = Read(
      segment, words,
      fields == nullptr ? among : postings_.AllWords(words.distinct, nullptr, &view.live), kAll);
  sets.StoreRead(key, all);
  return all & among;
}

DocSet PhraseMatcher::Read(size_t segment, const PhraseWords& words, const DocSet& among,
                           uint64_t enough, uint64_t* read) const {
  std::vector<DocumentBatch> matches;
  if (enough >= among.size()) {
    if (read != nullptr) *read = among.size();
    AppendBatches(segment, among, among.size(), matches);
    return Read(words, matches);
  }
  // Each step reads as many documents as all steps before.
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
    found |= Read(words, matches);
  }
  return found;
}

DocSet PhraseMatcher::Read(const PhraseWords& words, std::span<const DocumentBatch> matches) const {
  const auto read = [&](const DocumentBatch& batch, std::vector<DocId>& found) {
    const segment::TextReader& text = *snapshot_.segments[batch.segment]->text;
    WordMasks masks(text, words.distinct.size());
    for (Role role = 0; role < words.distinct.size(); ++role)
      masks.Add(role, words_.OrdinalOf(words.distinct[role], batch.segment));
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

}  // namespace gannet::search
