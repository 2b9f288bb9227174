// The text part of one segment: term dictionary, postings per field, and the forward index.
//
// The forward index holds, per document and field, the indexed words in order, as ordinals packed
// to the width of the dictionary. The ranking rules that depend on word positions read nothing
// else.
//
// Bytes of the postings of a word: varint (number of lists * 2 + whether a rest is stored). One
// list: varint id, postings (bitmap/postings_codec.h) to the end. Several: the rest if stored,
// then per list varint distance to the id before, varint length, postings. Ids below 65,536 are
// fields; 65,536 + p, p below 16, lists the documents that hold the word at position p of any
// field. The rest is stored for words in more than one field with at least 1,024 entries of
// fields: varint index of the longest list among these, varint length, postings of the documents
// that contain the word only in other fields.
//
// Bytes of a forward record: varint number of words, varint length and bytes of the head, then the
// words as packed ordinals, lowest bits first, padded to a byte. The head, per field: varint
// distance to the field before, varint number of words, varint length and bytes of its breaks.
// Positions count up by one from 0; a break is varint words since the last break, varint skipped
// positions.
//
// Postings hold docids of the whole index. They include deleted documents; callers filter these
// out.
// Threads: a reader is immutable and shared.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/stop_point.h"
#include "base/stoppable_mutex.h"
#include "bitmap/docset.h"
#include "bitmap/docset_union.h"
#include "bitmap/postings_codec.h"
#include "fst/fst.h"
#include "segment/local_docids.h"
#include "segment/file.h"
#include "segment/docset_cache.h"
#include "segment/lengths.h"
#include "segment/occurrences.h"
#include "segment/adjacency.h"
#include "segment/packed_offsets.h"
#include "segment/prefix_unions.h"
#include "segment/stem_table.h"
#include "segment/triples.h"
#include "segment/word_ranges.h"
#include "text/locale.h"

namespace gannet::segment {

// For the first positions of fields, documents are also listed by the position of a word. So
// documents that begin with the words of a query are found without reading the forward index.
inline constexpr uint32_t kLeadingPositions = 16;
inline constexpr uint32_t kLeadingLists = 1 << 16;  // id of the list of position 0

// A set of fields; cheap to test.
class FieldSet {
 public:
  FieldSet() = default;
  void Add(FieldId field) {
    if (field / 64 >= bits_.size()) bits_.resize(field / 64 + 1);
    bits_[field / 64] |= uint64_t{1} << field % 64;
  }
  bool Has(FieldId field) const {
    return field / 64 < bits_.size() && (bits_[field / 64] >> field % 64 & 1) != 0;
  }
  bool empty() const {
    for (const uint64_t word : bits_) {
      if (word != 0) return false;
    }
    return true;
  }
  // The field, if there is exactly one.
  std::optional<FieldId> only() const {
    std::optional<FieldId> field;
    for (size_t i = 0; i < bits_.size(); ++i) {
      if (bits_[i] == 0) continue;
      if (field || (bits_[i] & (bits_[i] - 1)) != 0) return std::nullopt;
      field = static_cast<FieldId>(i * 64 + static_cast<size_t>(__builtin_ctzll(bits_[i])));
    }
    return field;
  }
  friend bool operator==(const FieldSet&, const FieldSet&) = default;

 private:
  std::vector<uint64_t> bits_;
};

// `count` ordinals of `width` bits each, starting at bit `bit` of `data`.
struct PackedOrdinals {
  const char* data;
  uint64_t bit;
  uint32_t count;
  uint32_t width;
  Ordinal at(uint32_t i) const {
    const uint64_t position = bit + uint64_t{i} * width;
    return static_cast<Ordinal>(LoadFixed<uint64_t>(data + (position >> 3)) >> (position & 7)) &
           static_cast<Ordinal>((uint64_t{1} << width) - 1);
  }
};

// One document of the forward index: its words in order, field after field, and the head with their
// positions.
struct ForwardDocument {
  std::string_view head;
  PackedOrdinals words;
};

// Fields and positions of words, looked up by ascending index. Cost: a step per field and per gap
// between positions.
class PositionCursor {
 public:
  explicit PositionCursor(const ForwardDocument& document) : head_(document.head) {}

  // REQUIRES: indexes ascend over the calls and are below the number of words.
  std::pair<FieldId, uint32_t> At(uint32_t index) {
    while (index >= run_end_ && Advance()) {
    }
    return {field_, position_ + (index - run_begin_)};
  }
  // Number of words in the field of the last index.
  uint32_t field_words() const { return field_words_; }
  // Index after the last word that follows the last index without a gap, in the same field.
  uint32_t run_end() const { return run_end_; }

 private:
  // Moves to the next run: after a gap of this field, or the first of the next field. False: there
  // is none.
  bool Advance() {
    if (run_end_ < field_end_) {
      position_ += run_end_ - run_begin_ + gap_;
      run_begin_ = run_end_;
    } else {
      if (head_.done()) return false;
      field_ = static_cast<FieldId>(field_ + head_.Varint());
      field_words_ = static_cast<uint32_t>(head_.Varint());
      breaks_ = ByteReader(head_.LengthPrefixed());
      run_begin_ = field_end_;
      field_end_ += field_words_;
      position_ = 0;
    }
    run_end_ = field_end_;
    if (!breaks_.done()) {
      run_end_ =
          static_cast<uint32_t>(std::min<uint64_t>(run_begin_ + breaks_.Varint(), field_end_));
      gap_ = static_cast<uint32_t>(breaks_.Varint());
    }
    return true;
  }

  ByteReader head_;
  ByteReader breaks_{std::string_view()};
  FieldId field_ = 0;
  uint32_t field_words_ = 0, field_end_ = 0;
  uint32_t run_begin_ = 0, run_end_ = 0;
  uint32_t position_ = 0;  // of the word at run_begin_
  uint32_t gap_ = 0;       // positions left out after the run
};

// How long a field is, summed over a sample of documents.
struct FieldLength {
  FieldId field;
  uint64_t documents, words;
};

// Selects the lists of words that are joined.
struct WordLists {
  std::span<const WordRange> words;
  const FieldSet* fields = nullptr;  // lists of these fields; null: of any field
  uint32_t leading_positions = 0;    // if not 0: instead, lists of these early positions of any
                                     // field (bit p: position p, below kLeadingPositions)

  uint64_t word_count() const { return CountWords(words); }
};

class TextReader {
 public:
  const DocSetCache& docset_cache() const { return docset_cache_; }
  // Corruption: a section is missing or its size impossible.
  static Result<std::shared_ptr<const TextReader>> Open(std::shared_ptr<SegmentFile> file);

  const fst::Fst& terms() const { return terms_; }
  uint32_t document_count() const { return static_cast<uint32_t>(docids().size()); }
  std::span<const uint32_t> docids() const { return local_docids_.docids(); }
  const LocalDocIds& local_docids() const { return local_docids_; }
  uint64_t token_count() const { return token_count_; }
  uint32_t ordinal_width() const { return ordinal_width_; }
  const std::shared_ptr<SegmentFile>& file() const { return file_; }
  const LengthsReader& lengths() const { return lengths_; }
  // Lengths of fields in at most kSampledDocuments documents, spread over all; by ascending field.
  // The first caller reads them from the records.
  static constexpr uint32_t kSampledDocuments = 1024;
  const std::vector<FieldLength>& SampledLengths() const;
  // The language that most of its documents are in, guessed from their function words; kUnknown if
  // none has any. The first caller guesses.
  text::Locale GuessedLanguage() const;
  // The table of a language, made by the first caller. At most kStemTablesMax are kept.
  static constexpr size_t kStemTablesMax = 4;
  std::shared_ptr<const StemTable> Stems(text::Locale language) const;
  // Made by the first caller.
  std::shared_ptr<const segment::Occurrences> Occurrences() const;
  bool has_occurrences() const;
  // The languages of the stem tables that are kept.
  std::vector<text::Locale> StemLanguages() const;
  // Whether the documents in which `right` closely follows `left` are listed.
  bool ListsAdjacency(Ordinal left, Ordinal right) const {
    return adjacency_.Frequent(left) && adjacency_.Frequent(right);
  }
  // Adds those in which the smallest distance is `distance`. REQUIRES: ListsAdjacency(left, right)
  void UnionAdjacency(Ordinal left, Ordinal right, uint32_t distance, DocSetUnion& out) const {
    adjacency_.Union(*file_, left, right, distance, out);
  }
  const AdjacencyReader& adjacency() const { return adjacency_; }
  const PrefixUnions& prefixes() const { return prefixes_; }
  const Triples& triples() const { return triples_; }

  // Tells the system to read the postings of the words [begin, end), or the forward records of a
  // range of local docids, even if they were read before. For callers that visit all of them.
  void WillNeedPostings(Ordinal begin, Ordinal end) const;
  void WillNeedRecords(uint32_t local, uint32_t count) const;
  // Bytes of the postings of the words [begin, end).
  uint64_t PostingBytes(Ordinal begin, Ordinal end) const;
  // Bounds on the number of documents that hold the word, deleted ones included. Reads heads of
  // lists only.
  struct Count {
    uint64_t min, max;
  };
  Count CountDocuments(Ordinal ordinal) const;
  // All postings of a word in stored form; see PostingsWriter.
  std::string_view PostingBlob(Ordinal ordinal) const;
  // Calls sink(uint32_t id, std::string_view postings) for each list of a word: fields, then early
  // positions.
  template <typename Sink>
  static void ForEachList(std::string_view blob, Sink&& sink);
  // Calls sink(FieldId, std::string_view postings) for each field that holds the word.
  template <typename Sink>
  void ForEachField(Ordinal ordinal, Sink&& sink) const;
  // Adds documents that hold the word in a field of `fields` (null: any field).
  void UnionPostings(Ordinal ordinal, const FieldSet* fields, DocSetUnion& out) const;
  // Adds documents of all the lists. If there are many, their union is cached.
  void UnionLists(const WordLists& lists, DocSetUnion& out) const;
  // The same without caching; for few documents.
  void JoinLists(const WordLists& lists, DocSetUnion& out) const;
  // The number of lists that UnionLists would join and cache; a word counts once. 0: their union is
  // cached already, or they are few.
  uint64_t ListsToJoin(const WordLists& lists) const;
  // Whether reading this many documents is cheaper than making that union. REQUIRES: to_join is
  // ListsToJoin(lists), and not 0
  bool PaysToRead(const WordLists& lists, uint64_t to_join, uint64_t documents) const;
  // Number of documents that hold both words, in any fields.
  uint64_t CommonDocuments(Ordinal a, Ordinal b) const;
  // Whether a document of `live` holds the word in one of the fields. live null: all documents.
  bool HasLive(Ordinal ordinal, const FieldSet* fields, const DocSet* live) const;

  // Index of a document among docids(), or -1.
  int64_t Find(DocId docid) const;
  std::string_view ForwardRecord(uint32_t local) const {
    return ReadRange(forward_section_, forward_offsets_.RangeOf(local));
  }
  // Calls sink(DocId docid, std::string_view record) for each of `documents`, ascending.
  // Prefetches the records.
  // REQUIRES: documents is a subset of docids().
  template <typename Sink>
  void ForEachRecord(const DocSet& documents, Sink&& sink) const;

  // False: the record is damaged; the file is then marked corrupt.
  bool OpenRecord(std::string_view record, ForwardDocument& document) const {
    ByteReader reader(record);
    const uint64_t words = reader.Varint();
    document.head = reader.LengthPrefixed();
    const std::string_view packed = reader.Bytes((words * ordinal_width_ + 7) / 8);
    document.words = {packed.data(), 0, static_cast<uint32_t>(words), ordinal_width_};
    if (!reader.ok() || !reader.done() || words > UINT32_MAX) {
      file_->MarkCorrupt();
      return false;
    }
    return true;
  }
  // Calls sink(FieldId, uint32_t first_position, PackedOrdinals run) for each run of words at
  // consecutive positions, and before the runs of a field begin_field(FieldId, uint32_t
  // word_count).
  template <typename BeginField, typename Sink>
  void ForEachRun(std::string_view record, BeginField&& begin_field, Sink&& sink) const;

 private:
  // Two lists that have no document in common and together have all documents of a word, in any
  // field.
  struct Disjoint {
    std::string_view main, rest;  // rest: may be empty
    uint64_t count() const { return uint64_t{PostingsCount(main)} + PostingsCount(rest); }
  };
  // nullopt: the word has no such lists.
  std::optional<Disjoint> DisjointPostings(Ordinal ordinal) const;
  std::string_view ReadRange(const SegmentFile::Section* section,
                             PackedOffsets::Range range) const {
    return range.end < range.begin ? std::string_view()
                                   : file_->Read(section, range.begin, range.end - range.begin);
  }
  // The kind under which their union is cached; nullopt: it is not cached.
  static std::optional<DocSetCache::Kind> CacheKind(const WordLists& lists);
  static std::string CacheKey(DocSetCache::Kind kind, const WordLists& lists) {
    return DocSetCache::KeyOf(kind, {&lists.words[0].first, 2 * lists.words.size()});
  }
  // Has the system read the postings that have not been read yet, without waiting for them.
  void ExpectPostings(std::span<const WordRange> words) const;
  // Whether some of the lists may be in a union that is stored.
  bool HasCover(const WordLists& lists) const {
    return lists.leading_positions == 0 && lists.word_count() >= prefixes_.words_min();
  }
  // What the documents of the lists are put together from.
  PrefixUnions::Cover CoverOf(const WordLists& lists) const;
  // Cost of joining, in bytes of short lists.
  uint64_t JoinCost(const WordLists& lists, const PrefixUnions::Cover& cover) const;
  // Joins the lists of the frequent words with the union of the other words, which is cached
  // separately. Returns the cost; 0 if one kind is missing, and then does nothing.
  uint64_t JoinFrequent(const WordLists& lists, DocSetUnion& out) const;
  // Calls sink(const PrefixUnions::List&) for those of the cover that `lists` selects.
  template <typename Sink>
  void ForEachStored(const WordLists& lists, const PrefixUnions::Cover& cover, Sink&& sink) const;
  void JoinLists(const WordLists& lists, const PrefixUnions::Cover& cover, DocSetUnion& out) const;
  // Joins the lists of these words only, instead of lists.words.
  void JoinWords(std::span<const WordRange> words, const WordLists& lists, DocSetUnion& out) const;

  std::shared_ptr<SegmentFile> file_;
  fst::Fst terms_;
  LocalDocIds local_docids_;
  PackedOffsets posting_offsets_, forward_offsets_;
  const SegmentFile::Section* posting_section_ = nullptr;
  const SegmentFile::Section* forward_section_ = nullptr;
  const SegmentFile::Section* prefix_section_ = nullptr;
  const char* forward_data_ = nullptr;  // where records begin; not checked: for prefetching
  uint32_t ordinal_width_ = 1;
  uint64_t token_count_ = 0;
  LengthsReader lengths_;
  AdjacencyReader adjacency_;
  PrefixUnions prefixes_;
  Triples triples_;
  DocSetCache docset_cache_;
  mutable std::once_flag language_once_;
  mutable text::Locale language_ = text::Locale::kUnknown;
  mutable StoppableMutex stems_mutex_;  // one search makes a table for long
  // The one asked for last comes last.
  mutable std::vector<std::pair<text::Locale, std::shared_ptr<const StemTable>>> stems_;
  mutable StoppableMutex occurrences_mutex_;  // one search counts for long
  mutable std::shared_ptr<const segment::Occurrences> occurrences_;
  mutable std::once_flag sampled_once_;
  mutable std::vector<FieldLength> sampled_;
};

// One word occurrence of a document. `fields` is grouped by field, ascending.
struct WordOccurrence {
  FieldId field;
  uint32_t position;
  uint32_t term;  // local number of the word
};

// Writes postings for words given in byte order: call AddList for each field that holds the word
// and for each early position that it occurs at, then EndWord.
//
// Bytes of a word: varint lists * 2 + whether a rest is stored. If there is one list: its id, then
// its postings to the end. If there are several: the rest if stored, then for each list the
// distance from the preceding id, the length, the postings (bitmap/postings_codec.h). The rest: the
// index of the longest list of a field, then the length and postings of the documents that only
// other fields have. So these two lists have all documents of the word, each once.
class PostingsWriter {
 public:
  // frequent_min: number of documents that makes a word frequent; see FrequentMin.
  // parts: fields whose words are found by their parts; see triples.h.
  PostingsWriter(SegmentFileWriter& file, uint64_t frequent_min, FieldSet parts);
  // Lists by ascending id; docids ascending and not empty. An id below kLeadingLists is a field,
  // any other an early position: see WordLists::heads.
  void AddList(uint32_t id, std::span<const DocId> docids);
  void AddList(uint32_t id, const DocSet& docids);
  void EndWord(std::string_view word);
  // Adds a word with postings from TextReader::PostingBlob.
  void CopyWord(std::string_view word, std::string_view blob);
  // Ends the data section and writes the offsets, the triples and the unions of prefixes. Io, Full:
  // a temporary file could not be written.
  Status Finish();
  uint64_t count() const { return offsets_.size() - 1; }
  uint64_t bytes() const { return offsets_.back() + prefixes_.bytes() + triples_.bytes(); }
  // The most frequent words, ascending, at most kFrequentWordsMax.
  std::vector<Ordinal> FrequentWords() const;

 private:
  struct List {
    uint32_t id;
    size_t end;  // in list_bytes_
  };
  // Postings of the lists of fields, by index.
  std::string_view PostingsOf(size_t i) const {
    const size_t begin = i == 0 ? 0 : lists_[i - 1].end;
    return std::string_view(list_bytes_).substr(begin, lists_[i].end - begin);
  }
  void AppendRest(size_t fields);
  void Append(std::string_view word, std::string_view blob, uint64_t documents);

  SegmentFileWriter& file_;
  PrefixUnionWriter prefixes_;
  TripleWriter triples_;
  uint64_t frequent_min_;
  FieldSet parts_;
  bool any_parts_;
  std::vector<std::pair<uint64_t, Ordinal>> frequent_;  // documents, word
  std::vector<uint64_t> offsets_{0};
  // The current word.
  std::vector<List> lists_;
  std::string list_bytes_, blob_, rest_;
  uint64_t total_ = 0;  // docids of fields
};

// Writes forward records of documents in docid order.
class ForwardWriter {
 public:
  // frequent: words that get adjacency postings, ascending.
  ForwardWriter(SegmentFileWriter& file, uint32_t word_count, std::vector<Ordinal> frequent);
  void BeginDocument(DocId docid);
  // positions ascend.
  void AddField(FieldId field, std::span<const uint32_t> positions,
                std::span<const Ordinal> ordinals);
  void EndDocument();
  // Copies a document of another segment, whose ordinals are packed to `width` bits. new_ordinals:
  // by old ordinal, 2^width elements; kNoOrdinal for words that are no longer there. False: the
  // record is damaged, and nothing was written.
  bool CopyDocument(DocId docid, std::string_view record, uint32_t width,
                    std::span<const Ordinal> new_ordinals);
  static constexpr Ordinal kNoOrdinal = ~Ordinal{0};
  // Ends the data section and writes offsets, lengths, adjacency postings and meta.
  Status Finish();
  uint32_t width() const { return width_; }
  uint64_t bytes() const { return offsets_.back(); }

 private:
  // Adds the words in copied_ to the lengths and adjacency postings. False: the head does not fit
  // them.
  bool ListPostings(DocId docid, std::string_view head);

  SegmentFileWriter& file_;
  uint32_t width_;
  uint32_t word_count_;
  uint64_t token_count_ = 0;
  std::vector<uint64_t> offsets_{0};
  LengthsWriter lengths_;
  AdjacencyWriter adjacency_;
  DocId docid_ = 0;
  std::vector<Ordinal> copied_;
  std::string record_, head_, packed_;
  uint64_t bits_ = 0;  // packed, not yet in packed_
  uint32_t held_ = 0, words_ = 0;
  FieldId last_field_ = 0;
};

// Bits that hold every ordinal below `word_count`; at least 1.
uint32_t OrdinalWidth(uint32_t word_count);

template <typename Sink>
void TextReader::ForEachList(std::string_view blob, Sink&& sink) {
  ByteReader reader(blob);
  const uint64_t head = reader.Varint();
  const uint64_t lists = head >> 1;
  if (lists == 1) {
    const auto id = static_cast<uint32_t>(reader.Varint());
    if (reader.ok()) sink(id, std::string_view(reader.at(), reader.left()));
    return;
  }
  if (head & 1) {
    reader.Varint();
    reader.LengthPrefixed();
  }
  uint32_t id = 0;
  for (uint64_t i = 0; i < lists; ++i) {
    id += static_cast<uint32_t>(reader.Varint());
    const std::string_view postings = reader.LengthPrefixed();
    if (!reader.ok()) return;
    sink(id, postings);
  }
}

template <typename Sink>
void TextReader::ForEachField(Ordinal ordinal, Sink&& sink) const {
  ForEachList(PostingBlob(ordinal), [&](uint32_t id, std::string_view postings) {
    if (id < kLeadingLists) sink(static_cast<FieldId>(id), postings);
  });
}

template <typename Sink>
void TextReader::ForEachRecord(const DocSet& documents, Sink&& sink) const {
  // Records are scattered in memory: without prefetching, most of the time would be spent waiting
  // for them.
  constexpr size_t kBlock = 256, kOffsetsAhead = 24, kRecordsAhead = 12, kLinesAhead = 8,
                   kLineBytes = 64;
  std::array<std::pair<uint32_t, uint32_t>, kBlock> block;  // local docid, docid
  size_t size = 0;
  std::array<PackedOffsets::Range, kBlock> ranges;
  const auto flush = [&] {
    StopPoint();
    SegmentFile::NoteFaults();
    for (size_t i = 0; i < size; ++i) {
      if (i + kOffsetsAhead < size) forward_offsets_.Prefetch(block[i + kOffsetsAhead].first);
      ranges[i] = forward_offsets_.RangeOf(block[i].first);
      file_->Expect(forward_section_, ranges[i].begin, ranges[i].end - ranges[i].begin);
    }
    for (size_t i = 0; i < size; ++i) {
      if (i + kRecordsAhead < size) {
        const auto [begin, end] = ranges[i + kRecordsAhead];
        const char* record = forward_data_ + begin;
        const uint64_t bytes = std::min<uint64_t>(end - begin, kLinesAhead * kLineBytes);
        for (uint64_t at = 0; at < bytes; at += kLineBytes) __builtin_prefetch(record + at);
      }
      sink(block[i].second, ReadRange(forward_section_, ranges[i]));
    }
    size = 0;
  };
  ForEachLocal(local_docids_, documents, [&](uint32_t local, DocId docid) {
    block[size++] = {local, docid};
    if (size == kBlock) flush();
  });
  flush();
}

template <typename BeginField, typename Sink>
void TextReader::ForEachRun(std::string_view record, BeginField&& begin_field, Sink&& sink) const {
  ForwardDocument document;
  if (!OpenRecord(record, document)) return;
  PositionCursor cursor(document);
  uint32_t field_end = 0;
  for (uint32_t at = 0; at < document.words.count;) {
    const auto [field, position] = cursor.At(at);
    const uint32_t end = std::min(cursor.run_end(), document.words.count);
    if (end <= at) {
      file_->MarkCorrupt();
      return;
    }
    if (at >= field_end) {
      begin_field(field, cursor.field_words());
      field_end = at + cursor.field_words();
    }
    sink(field, position,
         PackedOrdinals{document.words.data, document.words.bit + uint64_t{at} * ordinal_width_,
                        end - at, ordinal_width_});
    at = end;
  }
}

}  // namespace gannet::segment
