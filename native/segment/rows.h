// Stored documents: the rows part of a segment, and how a document is encoded.
//
// A row holds the top-level attributes of a document: a directory of (field, size), then the values
// as minified JSON texts in field order. So one attribute can be sliced out without parsing the
// rest. Each row is LZ4-compressed separately against a dictionary of content that rows share. An
// index makes the dictionary from its first documents and keeps it for ever. So small rows compress
// as well as large ones, and merging copies rows without decoding them.
//
// Bytes: u8 form: 0 plain, 1 LZ4, 2 LZ4 against the dictionary of the index; for 1 and 2 a varint
// size of the row. The row: varint number of attributes; for each varint field, varint size; then
// the values, minified JSON texts without repeated keys, in the same order. Rows of less than 32
// bytes, and those that LZ4 does not shrink, are plain.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "segment/local_docids.h"
#include "segment/file.h"
#include "segment/packed_offsets.h"
#include "segment/train_dictionary.h"

namespace gannet::segment {

// Typical content that rows refer to. Immutable; shared by threads.
//
// Memory: its bytes, and 256 KiB more once a row has been compressed against it.
class RowDictionary {
 public:
  // bytes: the last kRowDictionaryBytes are used; see train_dictionary.h.
  explicit RowDictionary(std::string bytes);
  ~RowDictionary();
  RowDictionary(const RowDictionary&) = delete;
  const std::string& bytes() const { return bytes_; }

 private:
  friend class RowCodec;
  // LZ4_streamHC_t with the dictionary loaded.
  const void* Loaded() const;
  std::string bytes_;
  mutable std::once_flag once_;
  mutable void* stream_ = nullptr;
};

// Compresses and expands rows. One thread at a time. Memory: 256 KiB once it has compressed.
class RowCodec {
 public:
  // dictionary: may be null.
  explicit RowCodec(std::shared_ptr<const RowDictionary> dictionary)
      : dictionary_(std::move(dictionary)) {}
  ~RowCodec();
  RowCodec(const RowCodec&) = delete;

  void Compress(std::string_view row, std::string& out);
  // Valid until the next call. Corruption: the bytes are not a row.
  Result<std::string_view> Expand(std::string_view compressed);

 private:
  std::shared_ptr<const RowDictionary> dictionary_;
  void* stream_ = nullptr;
  std::string buffer_;
};

struct RowField {
  FieldId field;
  std::string_view value;  // JSON text
};

// Appends the row of `fields`, which are in field order and distinct.
void AppendRow(std::span<const RowField> fields, std::string& out);
// Parses an expanded row into fields, which are slices of it. False: not a row.
bool ParseRow(std::string_view row, std::vector<RowField>& fields);

class RowsWriter {
 public:
  explicit RowsWriter(SegmentFileWriter& file);
  // docids ascend over the calls.
  void Add(DocId docid, std::string_view compressed);
  void Finish();
  uint64_t bytes() const { return offsets_.back(); }
  std::span<const uint32_t> docids() const { return docids_; }

 private:
  SegmentFileWriter& file_;
  std::vector<uint32_t> docids_;
  std::vector<uint64_t> offsets_{0};
};

class RowsReader {
 public:
  static Result<std::shared_ptr<const RowsReader>> Open(std::shared_ptr<SegmentFile> file);
  std::span<const uint32_t> docids() const { return local_docids_.docids(); }
  const LocalDocIds& local_docids() const { return local_docids_; }
  // Has the system read rows that have not been read yet, without waiting for them.
  void Expect(size_t local) const;
  // The same for `count` rows, also if the system has dropped them since; for callers that visit
  // all rows.
  void WillNeed(size_t local, size_t count) const;
  // Compressed row at a local docid of docids().
  std::string_view at(size_t local) const;
  uint64_t bytes() const { return offsets_.empty() ? 0 : offsets_.back(); }
  const std::shared_ptr<SegmentFile>& file() const { return file_; }

 private:
  std::shared_ptr<SegmentFile> file_;
  LocalDocIds local_docids_;
  const SegmentFile::Section* section_ = nullptr;
  PackedOffsets offsets_;
};

}  // namespace gannet::segment
