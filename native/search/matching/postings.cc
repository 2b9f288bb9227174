#include "search/matching/postings.h"

#include <algorithm>
#include <cassert>
#include <string_view>
#include <utility>

#include "search/matching/word_masks.h"

namespace gannet::search {

void Postings::UnionLists(size_t segment, const segment::WordLists& lists, const DocSet* within,
                          DocSetUnion& out) const {
  const index::SegmentView& view = *snapshot_.segments[segment];
  // For few documents, the lists of many words are not joined.
  const uint64_t to_join = within == nullptr ? 0 : view.text->ListsToJoin(lists);
  const bool read =
      to_join > 0 && view.text->PaysToRead(lists, to_join, within->IntersectionSize(view.live));
  if (!read) return view.text->UnionLists(lists, out);
  out.Add(ReadLists(segment, lists, *within & view.live));
}

std::vector<DocId> Postings::ReadLists(size_t segment, const segment::WordLists& lists,
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

DocSet Postings::WordDocuments(WordNumber word, const segment::FieldSet* fields,
                               const DocSet* within) const {
  const std::vector<Ordinal>& ordinals = words_[word].ordinals;
  return LiveUnion(within, [&](size_t s, const segment::TextReader& text, DocSetUnion& out) {
    if (ordinals[s] != kNoOrdinal) text.UnionPostings(ordinals[s], fields, out);
  });
}

DocSet Postings::AnyWord(const WordsBySegment& words, const segment::FieldSet* fields,
                         const DocSet* within) const {
  uint64_t to_join = 0;
  for (size_t s = 0; s < words.size(); ++s)
    to_join += snapshot_.segments[s]->text->ListsToJoin({words[s], fields});
  const auto add = [&](size_t s, const segment::TextReader&, DocSetUnion& out) {
    UnionLists(s, {words[s], fields}, within, out);
  };
  return LiveUnion(within, add, to_join);
}

DocSet Postings::AllWords(std::vector<WordNumber> words, const segment::FieldSet* fields,
                          const DocSet* within) const {
  // Start with the rarest word, and look for the others in its documents.
  std::sort(words.begin(), words.end(),
            [&](WordNumber a, WordNumber b) { return Frequency(a) < Frequency(b); });
  DocSet documents = WordDocuments(words[0], fields, within);
  for (size_t i = 1; i < words.size() && !documents.empty(); ++i)
    documents = WordDocuments(words[i], fields, &documents);
  return documents;
}

DocSet Postings::WordAtPositions(WordNumber word, uint32_t mask, const DocSet* within) const {
  assert(mask != 0);
  return LiveUnion(within, [&](size_t s, const segment::TextReader& text, DocSetUnion& out) {
    const Ordinal ordinal = words_.OrdinalOf(word, s);
    const segment::WordRange range(ordinal, ordinal + 1);
    if (ordinal != kNoOrdinal)
      text.UnionLists({.words = {&range, 1}, .leading_positions = mask}, out);
  });
}

DocSet Postings::WordsTogether(std::span<const WordNumber> words, uint32_t length,
                               const DocSet* within) const {
  return LiveUnion(within, [&](size_t s, const segment::TextReader& text, DocSetUnion& out) {
    const auto ordinal_of = [&](WordNumber word) { return words_.OrdinalOf(word, s); };
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

uint64_t Postings::Frequency(WordNumber word) const {
  uint64_t sum = 0;
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const Ordinal ordinal = words_.OrdinalOf(word, s);
    if (ordinal != kNoOrdinal)
      sum += snapshot_.segments[s]->text->PostingBytes(ordinal, ordinal + 1);
  }
  return sum;
}

uint64_t Postings::DocumentsMin(WordNumber word) const {
  uint64_t sum = 0;
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const index::SegmentView& view = *snapshot_.segments[s];
    const Ordinal ordinal = words_.OrdinalOf(word, s);
    if (ordinal == kNoOrdinal) continue;
    const uint64_t count = view.text->CountDocuments(ordinal).min, dead = view.dead.size();
    sum += count > dead ? count - dead : 0;
  }
  return sum;
}

uint64_t Postings::DocumentsMax(WordNumber word) const {
  uint64_t sum = 0;
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const Ordinal ordinal = words_.OrdinalOf(word, s);
    if (ordinal != kNoOrdinal) sum += snapshot_.segments[s]->text->CountDocuments(ordinal).max;
  }
  return sum;
}

uint64_t Postings::CommonMax(WordNumber a, WordNumber b) const {
  uint64_t sum = 0;
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const Ordinal left = words_.OrdinalOf(a, s), right = words_.OrdinalOf(b, s);
    if (left != kNoOrdinal && right != kNoOrdinal)
      sum += snapshot_.segments[s]->text->CommonDocuments(left, right);
  }
  return sum;
}

bool Postings::ListsAdjacency(WordNumber left, WordNumber right) const {
  for (size_t s = 0; s < snapshot_.segments.size(); ++s) {
    const Ordinal a = words_.OrdinalOf(left, s), b = words_.OrdinalOf(right, s);
    if (a != kNoOrdinal && b != kNoOrdinal && !snapshot_.segments[s]->text->ListsAdjacency(a, b))
      return false;
  }
  return true;
}

}  // namespace gannet::search
