// The columns part of a segment: for each faceted field, its values by document and its documents by value.
//
// Values are numbers and strings in facet-normalised form (search.md 4.6). They are numbered in order:
// numbers first, ascending, then strings in byte order; so a range of values is a range of numbers, and
// comparing two documents is comparing two numbers.
//
// Threads: a reader is immutable and shared; a builder has one owner.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "bitmap/docset.h"
#include "segment/file.h"

namespace gannet::segment {

using ValueOrdinal = uint32_t;

// One column of one segment. Borrows the mapped file.
class ColumnReader {
 public:
  // blob: as ColumnBuilder wrote it, its checksum verified. Corruption: sizes do not fit.
  static Result<ColumnReader> Open(std::string_view blob);

  uint32_t number_count() const { return static_cast<uint32_t>(numbers_.size()); }
  uint32_t string_count() const { return string_offsets_.empty() ? 0 : static_cast<uint32_t>(string_offsets_.size() - 1); }
  uint32_t value_count() const { return number_count() + string_count(); }
  std::span<const double> numbers() const { return numbers_; }
  // Normalised form of string `i`, counted from 0.
  std::string_view string(uint32_t i) const {
    return strings_.substr(string_offsets_[i], string_offsets_[i + 1] - string_offsets_[i]);
  }
  // How the document with the lowest docid spells it.
  std::string_view spelling(uint32_t i) const;
  // Whether documents of this segment spell it differently.
  bool spelling_varies(uint32_t i) const { return (flags_[i] & 1) != 0; }

  std::string_view postings(ValueOrdinal value) const {
    return postings_.substr(posting_offsets_[value], posting_offsets_[value + 1] - posting_offsets_[value]);
  }
  // Union of the documents of values [begin, end).
  void UnionRange(ValueOrdinal begin, ValueOrdinal end, DocSet& out) const;

  // First number >= value (or > value), counted from 0; number_count() when none.
  uint32_t LowerNumber(double value) const;
  uint32_t UpperNumber(double value) const;
  // The same for strings, counted from 0.
  uint32_t LowerString(std::string_view value) const;
  uint32_t UpperString(std::string_view value) const;

  // Calls sink(ValueOrdinal) for the values of the document at `place`, ascending.
  template <typename Sink>
  void ForEachValue(uint32_t place, Sink&& sink) const {
    if (doc_offsets_.empty()) {
      if (const uint32_t code = CodeAt(place); code != 0) sink(code - 1);
      return;
    }
    for (uint32_t i = doc_offsets_[place]; i < doc_offsets_[place + 1]; ++i) sink(CodeAt(i));
  }
  // Smallest and greatest value of a document in the order used for sorting, or nullopt.
  bool single_valued() const { return doc_offsets_.empty(); }

  // Documents that have the field, have it null, have it empty ("" or [] or {}).
  const std::string_view exists_bytes() const { return exists_; }
  const std::string_view null_bytes() const { return null_; }
  const std::string_view empty_bytes() const { return empty_; }

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
  std::span<const uint64_t> posting_offsets_;
  std::span<const uint32_t> string_offsets_, spelling_offsets_, doc_offsets_;
  std::string_view flags_, strings_, spellings_, postings_, exists_, null_, empty_;
  // Unions of whole groups of values, so that a wide range joins few lists.
  std::span<const uint64_t> group_offsets_;
  std::string_view groups_;
  const char* codes_ = nullptr;
  uint32_t code_width_ = 4;
};

// All columns of one segment; a column is checked and opened when it is first used.
class ColumnsReader {
 public:
  static Result<std::shared_ptr<const ColumnsReader>> Open(std::shared_ptr<SegmentFile> file);
  // Null when the field has no column here. A damaged column is null too and marks the file corrupt.
  const ColumnReader* Find(FieldId field) const;
  std::vector<FieldId> fields() const;
  const std::shared_ptr<SegmentFile>& file() const { return file_; }
  // The bytes of a column as they are, for copying.
  std::string_view Blob(FieldId field) const;

 private:
  struct Entry {
    FieldId field;
    uint64_t offset, size;
    mutable std::once_flag once;
    mutable std::unique_ptr<ColumnReader> reader;
  };
  const Entry* FindEntry(FieldId field) const;
  std::shared_ptr<SegmentFile> file_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

// Collects the values of one field.
class FieldColumnBuilder {
 public:
  void AddNumber(uint32_t place, double value) { numbers_.push_back({value, place}); }
  void AddString(uint32_t place, std::string_view normalised, std::string_view original) {
    AddStringId(place, InternString(normalised, original));
  }
  uint32_t InternString(std::string_view normalised, std::string_view original);
  void AddStringId(uint32_t place, uint32_t id) { strings_.push_back({id, place}); }
  void MarkVaries(uint32_t id) { table_[id].varies = true; }
  void MarkExists(uint32_t place) { exists_.push_back(place); }
  void MarkNull(uint32_t place) { null_.push_back(place); }
  void MarkEmpty(uint32_t place) { empty_.push_back(place); }
  uint64_t memory_bytes() const;
  // docids: of all documents of the segment, by place. Appends the blob.
  void Write(std::span<const uint32_t> docids, std::string& out);

 private:
  struct NumberEntry {
    double value;
    uint32_t place;
  };
  struct StringEntry {
    uint32_t id, place;
  };
  struct StringValue {
    std::string normalised, original;
    bool varies = false;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  std::vector<NumberEntry> numbers_;
  std::vector<StringEntry> strings_;
  std::vector<StringValue> table_;
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> ids_;
  std::vector<uint32_t> exists_, null_, empty_;
  uint64_t string_bytes_ = 0;
};

class ColumnsWriter;

// Collects the columns of a segment document by document.
class ColumnBuilder {
 public:
  void BeginDocument(DocId docid) { docids_.push_back(docid); }
  void EndDocument() {}
  void AddNumber(FieldId field, double value) { Of(field).AddNumber(place(), value); }
  void AddString(FieldId field, std::string_view normalised, std::string_view original) {
    Of(field).AddString(place(), normalised, original);
  }
  void MarkExists(FieldId field) { Of(field).MarkExists(place()); }
  void MarkNull(FieldId field) { Of(field).MarkNull(place()); }
  void MarkEmpty(FieldId field) { Of(field).MarkEmpty(place()); }
  uint64_t memory_bytes() const;
  void Write(SegmentFileWriter& file) { Write(file, [](ColumnsWriter&, FieldId) {}, 0); }
  // Columns that were not collected here may be given as they are: copy(writer, field) is called for each
  // field below `field_end` without a column, in order.
  void Write(SegmentFileWriter& file, const std::function<void(ColumnsWriter&, FieldId)>& copy, size_t field_end);

 private:
  uint32_t place() const { return static_cast<uint32_t>(docids_.size() - 1); }
  FieldColumnBuilder& Of(FieldId field);
  std::vector<uint32_t> docids_;
  std::vector<std::unique_ptr<FieldColumnBuilder>> columns_;  // by field, null where none
};

// Writes columns one after the other, by ascending field.
class ColumnsWriter {
 public:
  explicit ColumnsWriter(SegmentFileWriter& file);
  void Add(FieldId field, std::string_view blob);
  void Finish();

 private:
  SegmentFileWriter& file_;
  std::string directory_;
  uint64_t offset_ = 0;
};

}  // namespace gannet::segment
