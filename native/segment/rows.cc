#include "segment/rows.h"

#include <lz4.h>
#include <lz4hc.h>

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "segment/layout.h"

namespace gannet::segment {
namespace {

// Limit of the row of one document; reading a larger one fails, as a damaged size would.
constexpr uint64_t kRowBytesMax = uint64_t{1} << 31;

// Rows are compressed once and copied by merges. For a million rows of 557 bytes and a trained
// dictionary, the fast compressor leaves 52 % in 1.8 s, level 2 47 % in 3.9 s, level 3 39 % in 8.2
// s, level 4 38 % in 10 s, level 9 37 % in 21 s.
constexpr int kLevel = 3;

enum Form : uint8_t { kPlain = 0, kCompressed = 1, kCompressedWithDictionary = 2 };

}  // namespace

RowDictionary::RowDictionary(std::string bytes) : bytes_(std::move(bytes)) {
  if (bytes_.size() > kRowDictionaryBytes) bytes_.erase(0, bytes_.size() - kRowDictionaryBytes);
}
RowDictionary::~RowDictionary() { LZ4_freeStreamHC(static_cast<LZ4_streamHC_t*>(stream_)); }

const void* RowDictionary::Loaded() const {
  std::call_once(once_, [&] {
    auto* stream = LZ4_createStreamHC();
    if (stream == nullptr) return;
    LZ4_resetStreamHC_fast(stream, kLevel);
    LZ4_loadDictHC(stream, bytes_.data(), static_cast<int>(bytes_.size()));
    stream_ = stream;
  });
  return stream_;
}

RowCodec::~RowCodec() { LZ4_freeStreamHC(static_cast<LZ4_streamHC_t*>(stream_)); }

void RowCodec::Compress(std::string_view row, std::string& out) {
  const size_t head = out.size();
  const int size = static_cast<int>(row.size());
  const int bound = LZ4_compressBound(size);
  if (stream_ == nullptr) stream_ = LZ4_createStreamHC();
  const void* loaded = dictionary_ ? dictionary_->Loaded() : nullptr;
  if (row.size() < 32 || bound <= 0 || stream_ == nullptr || (dictionary_ && loaded == nullptr)) {
    out.push_back(kPlain);
    out.append(row);
    return;
  }
  out.push_back(dictionary_ ? kCompressedWithDictionary : kCompressed);
  PutVarint(out, row.size());
  const size_t body = out.size();
  out.resize(body + static_cast<size_t>(bound));
  auto* stream = static_cast<LZ4_streamHC_t*>(stream_);
  LZ4_resetStreamHC_fast(stream, kLevel);
  if (dictionary_) LZ4_attach_HC_dictionary(stream, static_cast<const LZ4_streamHC_t*>(loaded));
  const int written = LZ4_compress_HC_continue(stream, row.data(), out.data() + body, size, bound);
  if (written <= 0 || static_cast<size_t>(written) >= row.size()) {
    out.resize(head);
    out.push_back(kPlain);
    out.append(row);
    return;
  }
  out.resize(body + static_cast<size_t>(written));
}

Result<std::string_view> RowCodec::Expand(std::string_view compressed) {
  const Status damaged = Status::Corruption("a stored document is damaged");
  if (compressed.empty()) return damaged;
  const auto form = static_cast<uint8_t>(compressed[0]);
  if (form == kPlain) return compressed.substr(1);
  ByteReader reader(compressed.substr(1));
  const uint64_t size = reader.Varint();
  if (!reader.ok() || size > kRowBytesMax || form > kCompressedWithDictionary ||
      (form == kCompressedWithDictionary && !dictionary_)) {
    return damaged;
  }
  buffer_.resize(size);
  const std::string_view dictionary = form == kCompressedWithDictionary
                                          ? std::string_view(dictionary_->bytes())
                                          : std::string_view();
  const int written = LZ4_decompress_safe_usingDict(
      reader.at(), buffer_.data(), static_cast<int>(reader.left()), static_cast<int>(size),
      dictionary.data(), static_cast<int>(dictionary.size()));
  if (written < 0 || static_cast<uint64_t>(written) != size) return damaged;
  return std::string_view(buffer_);
}

void AppendRow(std::span<const RowField> fields, std::string& out) {
  PutVarint(out, fields.size());
  for (const RowField& field : fields) {
    PutVarint(out, field.field);
    PutVarint(out, field.value.size());
  }
  for (const RowField& field : fields) out.append(field.value);
}

bool ParseRow(std::string_view row, std::vector<RowField>& fields) {
  fields.clear();
  ByteReader directory(row);
  const uint64_t count = directory.Varint();
  if (count > row.size()) return false;
  uint64_t total = 0;
  ByteReader sizes = directory;
  for (uint64_t i = 0; i < count; ++i) {
    sizes.Varint();
    total += sizes.Varint();
  }
  if (!sizes.ok() || total != sizes.left()) return false;
  for (uint64_t i = 0; i < count; ++i) {
    const auto field = static_cast<FieldId>(directory.Varint());
    const uint64_t size = directory.Varint();
    fields.push_back({field, sizes.Bytes(size)});
  }
  return sizes.ok();
}

RowsWriter::RowsWriter(SegmentFileWriter& file) : file_(file) { file_.BeginSection(kRowData); }

void RowsWriter::Add(DocId docid, std::string_view compressed) {
  file_.Append(compressed);
  docids_.push_back(docid);
  offsets_.push_back(offsets_.back() + compressed.size());
}

void RowsWriter::Finish() {
  file_.EndSection();
  file_.AddSection(kRowDocids, {reinterpret_cast<const char*>(docids_.data()), docids_.size() * 4});
  file_.AddSection(kRowOffsets, PackOffsets(offsets_));
}

Result<std::shared_ptr<const RowsReader>> RowsReader::Open(std::shared_ptr<SegmentFile> file) {
  auto reader = std::make_shared<RowsReader>();
  reader->file_ = file;
  const std::string_view docids = file->ReadAll(kRowDocids);
  reader->local_docids_ =
      LocalDocIds({reinterpret_cast<const uint32_t*>(docids.data()), docids.size() / 4});
  reader->section_ = file->Find(kRowData);
  const auto offsets = PackedOffsets::Open(file->ReadAll(kRowOffsets));
  if (offsets.ok()) reader->offsets_ = *offsets;
  if (file->corrupt() || reader->offsets_.size() != reader->docids().size() + 1) {
    return Status::Corruption("the segment file " + file->path() + " is damaged");
  }
  return std::shared_ptr<const RowsReader>(reader);
}

void RowsReader::Expect(size_t local) const {
  const auto [begin, end] = offsets_.RangeOf(local);
  file_->Expect(section_, begin, end - begin);
}

void RowsReader::WillNeed(size_t local, size_t count) const {
  const uint64_t begin = offsets_[local];
  file_->WillNeed(section_, begin, offsets_[std::min(local + count, offsets_.size() - 1)] - begin);
}

std::string_view RowsReader::at(size_t local) const {
  const auto [begin, end] = offsets_.RangeOf(local);
  return end < begin ? std::string_view() : file_->Read(section_, begin, end - begin);
}

}  // namespace gannet::segment
