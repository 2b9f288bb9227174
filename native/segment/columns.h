// The columns part of a segment: for each faceted field, its values by document and its documents
// by value.
//
// Values are numbers and strings in facet-normalised form (docs/behaviour/filters.md). Ordinals are
// assigned in order: numbers first, ascending, then strings in byte order. So a range of values is
// a range of ordinals, and comparing two documents is comparing two ordinals.
//
// Bytes of a column: the parts of ColumnPart in their order, each padded to 8 bytes, then u64 size
// of each part and u64 width of a code (1, 2 or 4): a reader begins at the end.
//
// Threads: a reader is immutable and shared; a builder has one owner.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/chunks.h"
#include "base/ids.h"
#include "base/status.h"
#include "bitmap/docset.h"
#include "segment/elements.h"
#include "segment/file.h"
#include "segment/geo_index.h"
#include "segment/packed_offsets.h"
#include "segment/spool.h"

namespace gannet::segment {

using ValueOrdinal = uint32_t;

// Names what is stored as a column.
struct ColumnKey {
  enum class Kind : uint8_t {
    kDocuments,  // the values of a field by document
    kElements,   // those by element of `outer` (elements.h)
    kMap,        // where the elements of the field begin in those of `outer`; if that is the same
                 // field, in documents
  };
  ColumnKey(FieldId of) : field(of) {}
  ColumnKey(Kind of_kind, FieldId of, FieldId in) : kind(of_kind), field(of), outer(in) {}
  static ColumnKey Elements(FieldId field, FieldId outer) {
    return {Kind::kElements, field, outer};
  }
  static ColumnKey Map(FieldId field, FieldId outer) { return {Kind::kMap, field, outer}; }

  Kind kind = Kind::kDocuments;
  FieldId field;
  FieldId outer = 0;
  auto operator<=>(const ColumnKey&) const = default;
};

// Offsets are packed (packed_offsets.h); there is one more than the entries they delimit.
enum class ColumnPart : uint8_t {
  kPostings,        // documents by value (bitmap/postings_codec.h)
  kPostingOffsets,  // by value, into the postings
  kGroups,  // unions of 64 values at a time, whole groups only, as postings; none below 128 values
  kGroupOffsets,  // by union
  kSupers,        // unions of 4096 values at a time, whole groups only
  kSuperOffsets,
  kNumbers,          // f64, ascending
  kStrings,          // UTF-8, ascending
  kStringOffsets,    // by string, into the strings
  kSpellings,        // UTF-8
  kSpellingOffsets,  // by string, into the spellings
  kFlags,  // u8 per string: 1 documents spell it differently, 2 its spelling is its normalised form
  kDocOffsets,  // u32 per document and one more, into the codes; no bytes when no document has more
                // than one value
  kCodes,  // values of documents: with doc offsets the value; without, the value + 1, or 0 for none
  kExists,  // postings: documents that have the field
  kNull,    // documents that have it null
  kEmpty,   // documents that have it empty: "", [] or {}
  kValued,  // documents that have some value
};
inline constexpr size_t kColumnPartCount = static_cast<size_t>(ColumnPart::kValued) + 1;

// One column of one segment. Borrows the mapped file.
class ColumnReader {
 public:
  // Values per stored union and per union of unions. A range of any width joins at most two partial
  // groups of single lists, two partial supers of groups, and the whole supers between them.
  static constexpr uint32_t kGroupValues = 64;
  static constexpr uint32_t kSuperValues = 4096;

  // blob: written by ColumnBuilder; its checksum has been verified. Corruption: sizes do not fit.
  static Result<ColumnReader> Open(std::string_view blob);

  uint32_t number_count() const { return static_cast<uint32_t>(numbers_.size()); }
  uint32_t string_count() const { return static_cast<uint32_t>(flags_.size()); }
  uint32_t value_count() const { return number_count() + string_count(); }
  std::span<const double> numbers() const { return numbers_; }
  // Normalised form of string `i`, counted from 0.
  std::string_view string(uint32_t i) const {
    const auto [begin, end] = string_offsets_.RangeOf(i);
    return strings_.substr(begin, end - begin);
  }
  // The spelling in the document with the lowest docid.
  std::string_view spelling(uint32_t i) const;
  // Whether documents of this segment spell the string differently.
  bool spelling_varies(uint32_t i) const { return (flags_[i] & 1) != 0; }

  std::string_view postings(ValueOrdinal value) const {
    const auto [begin, end] = posting_offsets_.RangeOf(value);
    return postings_.substr(begin, end - begin);
  }
  // Documents of the values [first, first + size) as postings; empty when no such union is stored.
  // size: kGroupValues or kSuperValues.
  std::string_view StoredUnion(ValueOrdinal first, uint32_t size) const;
  struct ValueRange {
    ValueOrdinal begin, end;
  };
  // Documents with a value in one of the ranges.
  DocSet UnionOf(std::span<const ValueRange> ranges) const;
  // out |= documents of the values [begin, end).
  void UnionRange(ValueOrdinal begin, ValueOrdinal end, DocSet& out) const {
    const ValueRange range{begin, end};
    out |= UnionOf({&range, 1});
  }

  // For walks over the values that look for some documents. Skips a stored union that begins at
  // `value` (or, downwards, ends with it), lies within the bound and has none of the documents.
  // False: there is no such union.
  bool SkipUp(ValueOrdinal& value, ValueOrdinal end, const DocSet& documents) const;
  // value: the next value to visit plus 1; at least `begin`.
  bool SkipDown(ValueOrdinal& value, ValueOrdinal begin, const DocSet& documents) const;
  // Estimated cost in nanoseconds of intersecting a list of `count` documents with
  // `documents_count` others, both spread over `segment_documents`.
  static int64_t NsOfIntersection(uint64_t count, uint64_t documents_count,
                                  uint64_t segment_documents);

  // First number >= value (or > value), counted from 0; number_count() when none.
  uint32_t LowerNumber(double value) const;
  uint32_t UpperNumber(double value) const;
  // The same for strings, counted from 0.
  uint32_t LowerString(std::string_view value) const;
  uint32_t UpperString(std::string_view value) const;

  // Calls sink(ValueOrdinal) for the values of the document at `local`, ascending.
  template <typename Sink>
  void ForEachValue(uint32_t local, Sink&& sink) const {
    if (doc_offsets_.empty()) {
      if (const uint32_t code = CodeAt(local); code != 0) sink(code - 1);
      return;
    }
    for (uint32_t i = doc_offsets_[local]; i < doc_offsets_[local + 1]; ++i) sink(CodeAt(i));
  }
  // Number of values of the document at `local`.
  uint32_t ValueCount(uint32_t local) const {
    return doc_offsets_.empty() ? (CodeAt(local) != 0 ? 1 : 0)
                                : doc_offsets_[local + 1] - doc_offsets_[local];
  }
  // Number of documents of the segment.
  uint32_t document_count() const {
    return static_cast<uint32_t>(doc_offsets_.empty() ? code_bytes_ / code_width_
                                                      : doc_offsets_.size() - 1);
  }
  // Whether no document has more than one value.
  bool single_valued() const { return doc_offsets_.empty(); }
  // The number of the document at `local`, if its smallest value is a number.
  std::optional<double> NumberAt(uint32_t local) const {
    uint32_t value;
    if (doc_offsets_.empty()) {
      value = CodeAt(local) - 1;
    } else {
      if (doc_offsets_[local] == doc_offsets_[local + 1]) return std::nullopt;
      value = CodeAt(doc_offsets_[local]);
    }
    if (value >= numbers_.size()) return std::nullopt;
    return numbers_[value];
  }
  // The value + 1 of the document at `local`, 0 when it has none. REQUIRES: single_valued()
  uint32_t Code(uint32_t local) const { return CodeAt(local); }
  // Calls sink(const Code* codes) with the Code of all local docids, in their stored width.
  // REQUIRES: single_valued()
  template <typename Sink>
  void WithCodes(Sink&& sink) const {
    switch (code_width_) {
      case 1: return sink(reinterpret_cast<const uint8_t*>(codes_));
      case 2: return sink(reinterpret_cast<const uint16_t*>(codes_));
      default: return sink(reinterpret_cast<const uint32_t*>(codes_));
    }
  }
  // Appends the strings that contain `part`, counted from 0, ascending. REQUIRES: part is not
  // empty.
  void FindContaining(std::string_view part, std::vector<uint32_t>& out) const;

  // Documents that have the field, have it null, have it empty ("" or [] or {}).
  std::string_view exists_bytes() const { return exists_; }
  std::string_view null_bytes() const { return null_; }
  std::string_view empty_bytes() const { return empty_; }
  // Documents with at least one value.
  std::string_view valued_bytes() const { return valued_; }

 private:
  uint32_t CodeAt(uint32_t i) const {
    switch (code_width_) {
      case 1: return static_cast<uint8_t>(codes_[i]);
      case 2: {
        uint16_t code;
        __builtin_memcpy(&code, codes_ + size_t{i} * 2, 2);
        return code;
      }
      default: {
        uint32_t code;
        __builtin_memcpy(&code, codes_ + size_t{i} * 4, 4);
        return code;
      }
    }
  }

  std::span<const double> numbers_;
  PackedOffsets posting_offsets_, string_offsets_, spelling_offsets_;
  std::span<const uint32_t> doc_offsets_;
  std::string_view flags_, strings_, spellings_, postings_, exists_, null_, empty_, valued_;
  // Unions of whole groups of values, so that a wide range joins few lists.
  PackedOffsets group_offsets_, super_offsets_;
  std::string_view groups_, supers_;
  const char* codes_ = nullptr;
  uint64_t code_bytes_ = 0;
  uint32_t code_width_ = 4;
};

// The strings of one column that are dates (base/moment.h), in the order of their moments.
class ColumnDates {
 public:
  // Reads all strings: about 50 ns each.
  explicit ColumnDates(const ColumnReader& column);
  struct Range {
    double from, to;  // both included
  };
  // Appends ranges of the values whose dates lie in one of the ranges. In any order; they may
  // touch.
  void AppendValues(std::span<const Range> ranges,
                    std::vector<ColumnReader::ValueRange>& out) const;

  // Dates are numbered by their moments.
  uint32_t count() const { return count_; }
  // The first one after a moment; count() if there is none.
  uint32_t FirstAfter(double moment) const { return Lower(moment, true); }
  ValueOrdinal ValueAt(uint32_t i) const { return column_.number_count() + StringAt(i); }
  double MomentAt(uint32_t i) const;

 private:
  uint32_t StringAt(uint32_t i) const { return strings_.empty() ? first_ + i : strings_[i]; }
  // The number of the first date at or after `moment` (or only after it); count_ if there is none.
  uint32_t Lower(double moment, bool after) const;

  const ColumnReader& column_;
  // Dates of one form and time zone are in the order of their moments already. Then they are
  // consecutive strings, and none is listed.
  uint32_t first_ = 0, count_ = 0;
  std::vector<uint32_t> strings_;
};

// All columns of one segment. A column is checked and opened when it is first used.
class ColumnsReader {
 public:
  static Result<std::shared_ptr<const ColumnsReader>> Open(std::shared_ptr<SegmentFile> file);
  // Null when the field has no column here. A damaged column is null too, and the file is then
  // marked corrupt.
  const ColumnReader* Find(FieldId field) const;
  // Null when the elements of `outer` do not have the field, or elements are not known here.
  const ElementColumn* Elements(FieldId field, FieldId outer) const;
  // Where the elements of the field begin in those of `outer`, or if that is the same field, in
  // documents. Null when that is not known.
  const PackedOffsets* Map(FieldId field, FieldId outer) const;
  // The dates of a column; the first call reads them. REQUIRES: Find(field) is not null
  const ColumnDates& Dates(FieldId field) const;
  std::vector<FieldId> fields() const;
  // What there is of elements, ascending.
  std::vector<ColumnKey> element_keys() const;
  const std::shared_ptr<SegmentFile>& file() const { return file_; }
  // The points of the documents with a number in each of the fields. If the file has none they are
  // built by the first call, which takes about 0.3 s per million. docids: of the segment, by local
  // docid. REQUIRES: the same arguments every time.
  const GeoIndex& Points(FieldId lat, FieldId lng, std::span<const uint32_t> docids) const;
  // The shapes of the documents, by ascending docid. The first call makes them with `build`.
  std::span<const StoredShape> Shapes(const std::function<std::vector<StoredShape>()>& build) const;
  // The stored bytes of a column, for copying; empty if there is none.
  std::string_view Blob(ColumnKey key) const;

 private:
  struct Entry {
    explicit Entry(ColumnKey of) : key(of) {}
    ColumnKey key;
    uint64_t offset = 0, size = 0;
    std::once_flag once;
    std::unique_ptr<ColumnReader> reader;
    std::unique_ptr<ColumnDates> dates;
    std::unique_ptr<ElementColumn> elements;
    std::unique_ptr<PackedOffsets> map;
  };
  Entry* FindEntry(ColumnKey key) const;
  // Opens an entry the first time: read(bytes) returns a Result, whose value goes to `to`.
  template <typename T, typename Read>
  const T* Opened(ColumnKey key, std::unique_ptr<T> Entry::*to, const Read& read) const;
  std::shared_ptr<SegmentFile> file_;
  std::vector<std::unique_ptr<Entry>> entries_;
  mutable std::once_flag points_once_, shapes_once_;
  mutable std::mutex dates_mutex_;  // of Entry::dates
  mutable std::vector<StoredShape> shapes_;
  mutable std::string points_bytes_;  // empty if they are in the file
  mutable std::unique_ptr<const GeoIndex> points_;
};

// Ascending local docids; one may be repeated. Consecutive local docids take almost no space.
class LocalDocIdList {
 public:
  void Add(uint32_t local) {
    if (!runs_.empty() && runs_.back().first + runs_.back().count == local) {
      ++runs_.back().count;
    } else {
      runs_.Add({local, 1});
    }
  }
  uint64_t memory_bytes() const { return runs_.memory_bytes(); }
  template <typename Sink>
  void ForEach(Sink&& sink) const {
    for (size_t i = 0; i < runs_.chunk_count(); ++i) {
      for (const Run& run : runs_.chunk(i)) {
        for (uint32_t k = 0; k < run.count; ++k) sink(run.first + k);
      }
    }
  }

 private:
  struct Run {
    uint32_t first, count;
  };
  Chunks<Run> runs_;
};

// Values with their local docids.
template <typename T>
class LocalValues {
 public:
  void Add(uint32_t local, T value) {
    local_docids_.Add(local);
    values_.Add(value);
  }
  size_t size() const { return values_.size(); }
  uint64_t memory_bytes() const { return local_docids_.memory_bytes() + values_.memory_bytes(); }
  template <typename Sink>
  void ForEach(Sink&& sink) const {
    typename Chunks<T>::Cursor values(values_);
    local_docids_.ForEach([&](uint32_t local) { sink(local, values.Next()); });
  }

 private:
  LocalDocIdList local_docids_;
  Chunks<T> values_;
};

// Writes a column part by part, so that the column is never held in memory as a whole.
class ColumnWriter {
 public:
  explicit ColumnWriter(std::function<void(std::string_view)> sink) : sink_(std::move(sink)) {}
  // REQUIRES: parts in the order of ColumnPart. A part may be appended in many pieces; a part that
  // is never appended is empty.
  void Append(ColumnPart part, std::string_view bytes);
  // Call it after the last part.
  void Finish(uint32_t code_width);
  uint64_t bytes() const { return bytes_; }

 private:
  void EndPart();

  std::function<void(std::string_view)> sink_;
  uint64_t sizes_[kColumnPartCount] = {};
  ColumnPart part_ = ColumnPart::kPostings;
  uint64_t bytes_ = 0;
};

// Writes the lists of documents of a column, value by value, and their unions.
//
// Memory: 8 bytes per value, the unions, and the lists of a group.
class ValueListsWriter {
 public:
  // out: nothing has been appended to it yet.
  explicit ValueListsWriter(ColumnWriter& out) : out_(out) {}
  // The documents of the next value.
  void Add(std::string_view postings);
  void Finish();

 private:
  // Unions of a fixed number of lists each.
  struct Unions {
    const uint32_t values;  // in each
    std::string bytes{};
    std::vector<uint64_t> offsets{0};
    // begins: where each of the lists in `lists` begins, then the end of the last one.
    void Add(std::string_view lists, std::span<const uint64_t> begins);
  };
  void WriteUnions(const Unions& unions, ColumnPart bytes, ColumnPart offsets);

  ColumnWriter& out_;
  std::vector<uint64_t> offsets_{0};
  std::string lists_;  // of the incomplete group
  Unions groups_{ColumnReader::kGroupValues}, supers_{ColumnReader::kSuperValues};
};

struct ColumnString {
  std::string_view normalised, spelling;
  bool varies;  // documents spell it differently
};
// Writes the strings of a column. `at` returns them by number, ascending; it is called twice for
// each string.
// Memory: 8 bytes per string.
void WriteStrings(ColumnWriter& out, uint32_t count,
                  const std::function<ColumnString(uint32_t)>& at);

// Where columns go, one after another.
class ColumnSink {
 public:
  virtual ~ColumnSink() = default;
  // What is appended until End belongs to this column.
  virtual void Begin(ColumnKey key) = 0;
  virtual void Append(std::string_view bytes) = 0;
  virtual void End() = 0;
};

// An element, by its number among those of the field.
struct ElementOf {
  FieldId field;
  uint32_t element;
};

// Collects the values of one field. Local docids ascend over the calls of each method.
//
// within: the elements that a value is in
class FieldColumnBuilder {
 public:
  using Within = std::span<const ElementOf>;

  void AddNumber(uint32_t local, double value, Within within = {}) {
    AddToElements(within, kNumber, static_cast<uint32_t>(numbers_.size()));
    numbers_.Add(local, value);
  }
  void AddString(uint32_t local, std::string_view normalised, std::string_view original,
                 Within within = {}) {
    AddToElements(within, kString, static_cast<uint32_t>(strings_.size()));
    strings_.Add(local, InternString(normalised, original));
  }
  void MarkExists(uint32_t local, Within within = {}) {
    AddToElements(within, kMark, ElementCode::kPresent);
    exists_.Add(local);
  }
  void MarkNull(uint32_t local, Within within = {}) {
    AddToElements(within, kMark, ElementCode::kNull);
    null_.Add(local);
  }
  void MarkEmpty(uint32_t local, Within within = {}) {
    AddToElements(within, kMark, ElementCode::kEmpty);
    empty_.Add(local);
  }
  uint64_t memory_bytes() const;
  // The ordinals of what was added: of all numbers, then of all strings.
  struct Ordinals {
    std::vector<ValueOrdinal> of;
    uint32_t values = 0;  // of the column
  };
  // docids: of all documents of the segment, by local docid. out: nothing has been appended to it
  // yet. ordinals: null if they are not needed
  void Write(std::span<const uint32_t> docids, ColumnWriter& out,
             Ordinals* ordinals = nullptr) const;
  // The fields whose elements have some of what was added, ascending.
  std::vector<FieldId> outers() const;
  // elements: the number of those of `outer`
  void WriteElements(FieldId outer, uint32_t elements, const Ordinals& ordinals,
                     ColumnSink& out) const;

 private:
  // What an element has: the index of a number or a string, or a mark, and which of these.
  enum Tag : uint32_t { kNumber, kString, kMark, kTags };
  struct ElementEntry {
    uint32_t element, what;
  };
  void AddToElements(Within within, Tag tag, uint32_t what) {
    for (const auto& [field, element] : within) elements_[field].Add({element, what * kTags + tag});
  }
  struct StringValue {
    std::string normalised, original;
    bool varies = false;
  };
  // A value of the document at `local`.
  struct Entry {
    uint32_t local;
    ValueOrdinal value;
    bool operator==(const Entry&) const = default;
  };
  // The numbers of the column, ascending. Adds an entry to `entries` for each number that was
  // added.
  std::vector<double> Numbers(std::vector<Entry>& entries) const;
  // Sorts entries by local docid, then value, and drops duplicates. entries: those of numbers, then
  // those of strings, both by local docid.
  static void OrderEntries(size_t number_entries, std::vector<Entry>& entries);
  // entries: as OrderEntries returns them.
  static void WriteLists(std::span<const Entry> entries, std::span<const uint32_t> docids,
                         uint32_t values, ColumnWriter& out);

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  // The number of the string in table_; adds the string if it is new.
  uint32_t InternString(std::string_view normalised, std::string_view original);

  LocalValues<double> numbers_;
  LocalValues<uint32_t> strings_;  // numbers of strings in table_
  std::vector<StringValue> table_;
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> ids_;
  LocalDocIdList exists_, null_, empty_;
  std::map<FieldId, Chunks<ElementEntry>> elements_;  // by the field whose elements they are
  uint64_t string_bytes_ = 0;
};

// Collects the columns of a segment document by document.
class ColumnBuilder {
 public:
  void BeginDocument(DocId docid) { docids_.push_back(docid); }
  void AddNumber(FieldId field, double value) { Of(field).AddNumber(local(), value, within_); }
  void AddString(FieldId field, std::string_view normalised, std::string_view original) {
    Of(field).AddString(local(), normalised, original, within_);
  }
  void MarkExists(FieldId field) { Of(field).MarkExists(local(), within_); }
  void MarkNull(FieldId field) { Of(field).MarkNull(local(), within_); }
  void MarkEmpty(FieldId field) { Of(field).MarkEmpty(local(), within_); }
  // Says that elements of the field are counted, even if none follows.
  void ExpectElements(FieldId field) {
    if (within_.size() < ElementColumn::kDepthMax) ElementsOf(field);
  }
  // What is added until EndElement is in a new element of the field as well. False: it is too far
  // inside others; then nothing is begun.
  bool BeginElement(FieldId field);
  void EndElement() { within_.pop_back(); }
  // See ColumnsWriter::SetPointFields; used for the writer that Write makes.
  void SetPointFields(FieldId lat, FieldId lng) { point_fields_ = {lat, lng}; }
  uint64_t memory_bytes() const;
  // Docids of all documents so far, by local docid.
  std::span<const DocId> docids() const { return docids_; }
  bool Has(FieldId field) const { return field < columns_.size() && columns_[field] != nullptr; }
  // Fields that have a column, ascending.
  std::vector<FieldId> fields() const;
  // Writes the column of a field, with those of its elements, and frees it. REQUIRES: Has(field)
  void Take(FieldId field, ColumnSink& out);
  void WriteMaps(ColumnSink& out) const;
  // Writes all columns.
  // Io, Full: a temporary file could not be written.
  Status Write(SegmentFileWriter& file);

 private:
  uint32_t local() const { return static_cast<uint32_t>(docids_.size() - 1); }
  FieldColumnBuilder& Of(FieldId field);
  struct ElementsOfField {
    uint32_t count = 0;
    bool incomplete = false;  // some were too far inside others
    // By the same field, the document of each element; by others, the element of these around it.
    std::map<FieldId, Chunks<uint32_t>> in{};
  };
  ElementsOfField& ElementsOf(FieldId field);

  std::vector<DocId> docids_;
  std::vector<std::unique_ptr<FieldColumnBuilder>> columns_;  // by field, null where none
  std::vector<std::unique_ptr<ElementsOfField>> elements_;    // the same
  std::vector<ElementOf> within_;                             // the current ones, outermost first
  std::optional<std::pair<FieldId, FieldId>> point_fields_;
};

// Writes columns one after another: by ascending field, each with those of its elements; then maps.
class ColumnsWriter : public ColumnSink {
 public:
  explicit ColumnsWriter(SegmentFileWriter& file);
  // Sets the columns of latitude and longitude. If both are written, the points of the documents
  // are written after them, so that geo filters need not build them. Call it before the first Add.
  void SetPointFields(FieldId lat, FieldId lng) { point_fields_ = {lat, lng}; }
  void Begin(ColumnKey key) override;
  void Append(std::string_view bytes) override;
  void End() override;
  // Adds an existing column.
  void Copy(ColumnKey key, std::string_view blob);
  uint64_t bytes() const { return offset_; }
  // Io, Full: a temporary file could not be written.
  Status Finish();

 private:
  std::optional<std::pair<FieldId, FieldId>> point_fields_;
  Spool lat_, lng_;  // their columns
  SegmentFileWriter& file_;
  std::string directory_, element_directory_;
  uint64_t offset_ = 0;
  ColumnKey key_{0};  // of the current column, which begins at begin_
  uint64_t begin_ = 0;
};

}  // namespace gannet::segment
