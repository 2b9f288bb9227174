#include "segment/vectors.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "base/bytes.h"
#include "base/json.h"
#include "base/tuning.h"
#include "segment/layout.h"
#include "vector/kernels.h"
#include "vector/signs.h"

namespace gannet::segment {
namespace {

// With fewer components, an estimate from signs is too far off.
constexpr uint32_t kSignedDimensionsMin = 64;
// Rows quantised at a time.
constexpr size_t kRowsPerStep = 256;

SectionId IdOf(size_t embedder, VectorPart part) {
  return kVectorSections + static_cast<SectionId>(embedder) * kVectorParts +
         static_cast<SectionId>(part);
}

void WriteSigns(SegmentFileWriter& file, SectionId id, std::string_view rows, size_t dimensions) {
  const auto* row = reinterpret_cast<const float*>(rows.data());
  const auto* end = row + rows.size() / sizeof(float);
  vector::SignEncoder encoder(dimensions);
  file.BeginSection(id);
  while (row != end) {
    encoder.Add(row);
    row += dimensions;
    if (encoder.rows() < vector::kSignRows && row != end) continue;
    file.Append({reinterpret_cast<const char*>(encoder.block().data()), encoder.block().size()});
    encoder.Clear();
  }
  file.EndSection();
}

}  // namespace

RowSource EmbedderReader::source(uint32_t row) const {
  return {text_hashes_.empty() ? 0 : text_hashes_[row],
          fragments_.empty() ? uint8_t{0} : fragments_[row],
          spans_.empty() ? RowSpan{} : spans_[row]};
}

const EmbedderReader::DocSets& EmbedderReader::Sets() const {
  std::call_once(sets_->once, [&] {
    std::vector<uint32_t> embedded, user_provided, regenerated;
    for (size_t local = 0; local < docids().size(); ++local) {
      if (!rows_of(local).empty()) embedded.push_back(docids()[local]);
      if ((flags(local) & kUserProvided) != 0) user_provided.push_back(docids()[local]);
      if ((flags(local) & kRegenerate) != 0) regenerated.push_back(docids()[local]);
    }
    sets_->embedded = DocSetOf(embedded);
    sets_->user_provided = DocSetOf(user_provided);
    sets_->regenerated = DocSetOf(regenerated);
  });
  return *sets_;
}

bool EmbedderReader::ReadRow(uint32_t row, std::vector<float>& out) const {
  out.resize(dimensions());
  if (binary_quantised()) {
    const uint64_t* bits = Bits(row, row + 1);
    if (bits == nullptr) return false;
    vector::ExpandBits(bits, dimensions(), out.data());
    return true;
  }
  const std::span<const float> numbers = Row(row);
  if (numbers.size() != dimensions()) return false;
  std::copy(numbers.begin(), numbers.end(), out.begin());
  return true;
}

EmbedderReader::ByteRows EmbedderReader::Bytes(uint32_t begin, uint32_t end) const {
  if (binary_quantised()) return {};
  const uint64_t count = end - begin;
  const std::string_view bytes =
      file_->Read(bytes_, uint64_t{begin} * dimensions(), count * dimensions());
  const std::string_view scales = file_->Read(scales_, uint64_t{begin} * sizeof(vector::ByteScale),
                                              count * sizeof(vector::ByteScale));
  if (bytes.size() != count * dimensions() || scales.size() != count * sizeof(vector::ByteScale))
    return {};
  return {reinterpret_cast<const int8_t*>(bytes.data()),
          reinterpret_cast<const vector::ByteScale*>(scales.data())};
}

const uint64_t* EmbedderReader::Bits(uint32_t begin, uint32_t end) const {
  if (!binary_quantised()) return nullptr;
  const uint64_t row_bytes = vector::BitWords(dimensions()) * sizeof(uint64_t);
  const std::string_view bits = file_->Read(bits_, begin * row_bytes, (end - begin) * row_bytes);
  if (bits.size() != (end - begin) * row_bytes) return nullptr;
  return reinterpret_cast<const uint64_t*>(bits.data());
}

const uint8_t* EmbedderReader::Signs(size_t begin, size_t end) const {
  const uint64_t block_bytes = vector::SignBlockBytes(dimensions()),
                 size = (end - begin) * block_bytes;
  file_->Expect(signs_, begin * block_bytes, size);
  const std::string_view blocks = file_->Read(signs_, begin * block_bytes, size);
  return blocks.size() == size ? reinterpret_cast<const uint8_t*>(blocks.data()) : nullptr;
}

void EmbedderReader::WillNeed(uint32_t begin, uint32_t end) const {
  if (binary_quantised()) {
    const uint64_t row_bytes = vector::BitWords(dimensions()) * sizeof(uint64_t);
    file_->WillNeed(bits_, begin * row_bytes, (end - begin) * row_bytes);
  } else {
    file_->WillNeed(bytes_, uint64_t{begin} * dimensions(), uint64_t{end - begin} * dimensions());
  }
}

Result<std::shared_ptr<const VectorsReader>> VectorsReader::Open(
    std::shared_ptr<SegmentFile> file) {
  const Status damaged =
      Status::Corruption("the vectors in the segment file " + file->path() + " are damaged");
  auto reader = std::make_shared<VectorsReader>();
  reader->file_ = file;
  if (!file->Has(kVectorDirectory)) return std::shared_ptr<const VectorsReader>(reader);
  ByteReader directory(file->ReadAll(kVectorDirectory));
  const uint64_t count = directory.Varint();
  for (uint64_t i = 0; i < count && directory.ok(); ++i) {
    EmbedderReader embedder;
    embedder.file_ = file;
    embedder.shape_.name = directory.LengthPrefixed();
    const uint64_t dimensions = directory.Varint();
    embedder.shape_.binary_quantised = directory.Fixed<uint8_t>() != 0;
    if (dimensions == 0 || dimensions > vector::kDimensionsMax) return damaged;
    embedder.shape_.dimensions = static_cast<uint32_t>(dimensions);
    const auto read = [&](VectorPart part) {
      return file->Has(IdOf(i, part)) ? file->ReadAll(IdOf(i, part)) : std::string_view();
    };
    embedder.row_docids_ = AsSpan<DocId>(read(VectorPart::kRowDocids));
    embedder.local_docids_ = LocalDocIds(AsSpan<DocId>(read(VectorPart::kDocids)));
    embedder.first_rows_ = AsSpan<uint32_t>(read(VectorPart::kFirstRows));
    embedder.flags_ = AsSpan<uint8_t>(read(VectorPart::kFlags));
    embedder.text_hashes_ = AsSpan<uint64_t>(read(VectorPart::kTextHashes));
    embedder.fragments_ = AsSpan<uint8_t>(read(VectorPart::kFragments));
    embedder.spans_ = AsSpan<RowSpan>(read(VectorPart::kSpans));
    embedder.rows_ = file->Find(IdOf(i, VectorPart::kRows));
    embedder.bytes_ = file->Find(IdOf(i, VectorPart::kBytes));
    embedder.scales_ = file->Find(IdOf(i, VectorPart::kScales));
    embedder.bits_ = file->Find(IdOf(i, VectorPart::kBits));
    embedder.signs_ = file->Find(IdOf(i, VectorPart::kSigns));
    const uint64_t rows = embedder.row_docids_.size(), documents = embedder.docids().size();
    const auto has = [](const SegmentFile::Section* section, uint64_t size) {
      return section != nullptr ? section->size == size : size == 0;
    };
    const uint64_t exact = embedder.shape_.binary_quantised ? 0 : rows * dimensions;
    const uint64_t bits = embedder.shape_.binary_quantised
                              ? rows * vector::BitWords(dimensions) * sizeof(uint64_t)
                              : 0;
    if (embedder.first_rows_.size() != documents + 1 || embedder.flags_.size() != documents ||
        embedder.first_rows_.back() != rows ||
        !std::is_sorted(embedder.first_rows_.begin(), embedder.first_rows_.end()) ||
        (!embedder.text_hashes_.empty() && embedder.text_hashes_.size() != rows) ||
        (!embedder.fragments_.empty() && embedder.fragments_.size() != rows) ||
        (!embedder.spans_.empty() && embedder.spans_.size() != rows) ||
        !has(embedder.rows_, exact * sizeof(float)) || !has(embedder.bytes_, exact) ||
        !has(embedder.scales_,
             embedder.shape_.binary_quantised ? 0 : rows * sizeof(vector::ByteScale)) ||
        !has(embedder.bits_, bits) ||
        (embedder.signs_ != nullptr &&
         !has(embedder.signs_, vector::SignBlocks(rows) * vector::SignBlockBytes(dimensions)))) {
      return damaged;
    }
    reader->embedders_.push_back(std::move(embedder));
  }
  if (!directory.ok() || file->corrupt()) return damaged;
  return std::shared_ptr<const VectorsReader>(reader);
}

const EmbedderReader* VectorsReader::Find(std::string_view embedder) const {
  for (const EmbedderReader& reader : embedders_) {
    if (reader.name() == embedder) return &reader;
  }
  return nullptr;
}

Status AppendEmbeddings(const EmbedderReader& reader, size_t local, std::string& out) {
  const EmbedderReader::Rows rows = reader.rows_of(local);
  std::vector<float> numbers;
  out += '[';
  for (uint32_t row = rows.begin; row < rows.end; ++row) {
    if (!reader.ReadRow(row, numbers)) return Status::Corruption("a stored vector is damaged");
    if (row > rows.begin) out += ',';
    AppendJsonFloats(out, numbers);
  }
  out += ']';
  return Status::Ok();
}

struct VectorsWriter::Embedder {
  Embedder(EmbedderShape of, const std::string& folder) : shape(std::move(of)), rows(folder) {}
  EmbedderShape shape;
  Spool rows;  // single precision, or bits
  std::vector<DocId> row_docids, docids;
  std::vector<uint32_t> first_rows{0};
  std::vector<uint8_t> flags;
  std::vector<uint64_t> text_hashes;
  std::vector<uint8_t> fragments;
  std::vector<RowSpan> spans;
  std::vector<uint64_t> bits;  // of the current row
};

VectorsWriter::VectorsWriter(std::string folder, std::vector<EmbedderShape> embedders) {
  for (EmbedderShape& shape : embedders)
    embedders_.push_back(std::make_unique<Embedder>(std::move(shape), folder));
}
VectorsWriter::~VectorsWriter() = default;

const EmbedderShape& VectorsWriter::shape(size_t embedder) const {
  return embedders_[embedder]->shape;
}

void VectorsWriter::BeginDocument(size_t embedder, DocId docid, uint8_t flags) {
  Embedder& to = *embedders_[embedder];
  assert(to.docids.empty() || to.docids.back() < docid);
  to.docids.push_back(docid);
  to.flags.push_back(flags);
  to.first_rows.push_back(to.first_rows.back());
}

void VectorsWriter::AddRow(size_t embedder, std::span<const float> row, RowSource source) {
  Embedder& to = *embedders_[embedder];
  if (to.shape.dimensions == 0) to.shape.dimensions = static_cast<uint32_t>(row.size());
  assert(row.size() == to.shape.dimensions);
  to.row_docids.push_back(to.docids.back());
  ++to.first_rows.back();
  // Drops lists that have only the default value.
  const auto keep = [rows = to.row_docids.size()](auto& list, auto value) {
    if (list.empty() && value == decltype(value){}) return;
    list.resize(rows);
    list.back() = value;
  };
  keep(to.text_hashes, source.text_hash);
  keep(to.fragments, source.fragment);
  keep(to.spans, source.span);
  if (to.shape.binary_quantised) {
    to.bits.resize(vector::BitWords(row.size()));
    vector::QuantiseToBits(row.data(), row.size(), to.bits.data());
    to.rows.buffer().append(BytesOf(to.bits));
  } else {
    to.rows.buffer().append(reinterpret_cast<const char*>(row.data()), row.size_bytes());
  }
  to.rows.Settle();
}

Status VectorsWriter::CopyDocument(size_t embedder, const EmbedderReader& from, size_t local,
                                   uint8_t flags) {
  if (shape(embedder).dimensions == 0) embedders_[embedder]->shape.dimensions = from.dimensions();
  assert(from.dimensions() == shape(embedder).dimensions || from.rows_of(local).empty());
  BeginDocument(embedder, from.docids()[local], flags);
  const EmbedderReader::Rows rows = from.rows_of(local);
  std::vector<float> numbers;
  for (uint32_t row = rows.begin; row < rows.end; ++row) {
    if (!from.binary_quantised()) {
      const std::span<const float> exact = from.Row(row);
      if (exact.size() != from.dimensions())
        return Status::Corruption("a stored vector is damaged");
      AddRow(embedder, exact, from.source(row));
    } else {
      if (!from.ReadRow(row, numbers)) return Status::Corruption("a stored vector is damaged");
      AddRow(embedder, numbers, from.source(row));
    }
  }
  return Status::Ok();
}

bool VectorsWriter::empty() const {
  return std::all_of(embedders_.begin(), embedders_.end(),
                     [](const auto& embedder) { return embedder->docids.empty(); });
}

uint64_t VectorsWriter::memory_bytes() const {
  uint64_t bytes = 0;
  for (const auto& embedder : embedders_) {
    bytes += embedder->row_docids.capacity() * 4 + embedder->docids.capacity() * 4 +
             embedder->first_rows.capacity() * 4 + embedder->flags.capacity() +
             embedder->text_hashes.capacity() * 8 + embedder->fragments.capacity() +
             embedder->spans.capacity() * sizeof(RowSpan) + embedder->rows.buffer().capacity();
  }
  return bytes;
}

uint64_t VectorsWriter::bytes() const {
  uint64_t bytes = 0;
  for (const auto& embedder : embedders_) bytes += embedder->rows.size();
  return bytes;
}

Status VectorsWriter::Write(SegmentFileWriter& file) {
  if (empty()) return Status::Ok();
  std::string directory;
  const auto count = static_cast<uint64_t>(
      std::count_if(embedders_.begin(), embedders_.end(),
                    [](const auto& embedder) { return !embedder->docids.empty(); }));
  PutVarint(directory, count);
  size_t number = 0;
  for (const auto& embedder : embedders_) {
    if (embedder->docids.empty()) continue;
    const EmbedderShape& shape = embedder->shape;
    // Entries without a row have no dimensions.
    PutBytes(directory, shape.name);
    PutVarint(directory, std::max<uint32_t>(1, shape.dimensions));
    PutFixed<uint8_t>(directory, shape.binary_quantised ? 1 : 0);
    const auto add = [&](VectorPart part, std::string_view bytes) {
      file.AddSection(IdOf(number, part), bytes);
    };
    add(VectorPart::kDocids, BytesOf(embedder->docids));
    add(VectorPart::kFirstRows, BytesOf(embedder->first_rows));
    add(VectorPart::kFlags, BytesOf(embedder->flags));
    add(VectorPart::kRowDocids, BytesOf(embedder->row_docids));
    const auto add_kept = [&](VectorPart part, auto& list) {
      if (list.empty()) return;
      list.resize(embedder->row_docids.size());
      add(part, BytesOf(list));
    };
    add_kept(VectorPart::kTextHashes, embedder->text_hashes);
    add_kept(VectorPart::kFragments, embedder->fragments);
    add_kept(VectorPart::kSpans, embedder->spans);
    GANNET_ASSIGN_OR_RETURN(const std::string_view rows, embedder->rows.Bytes());
    add(shape.binary_quantised ? VectorPart::kBits : VectorPart::kRows, rows);
    if (!shape.binary_quantised) {
      const size_t dimensions = shape.dimensions, total = embedder->row_docids.size();
      std::vector<int8_t> bytes(kRowsPerStep * dimensions);
      std::vector<vector::ByteScale> scales(total);
      file.BeginSection(IdOf(number, VectorPart::kBytes));
      for (size_t row = 0; row < total;) {
        const size_t until = std::min(total, row + kRowsPerStep), first = row;
        for (; row < until; ++row) {
          const auto* numbers = reinterpret_cast<const float*>(rows.data()) + row * dimensions;
          scales[row] = vector::QuantiseToBytes(numbers, dimensions,
                                                bytes.data() + (row - first) * dimensions);
        }
        file.Append({reinterpret_cast<const char*>(bytes.data()), (until - first) * dimensions});
      }
      file.EndSection();
      add(VectorPart::kScales, BytesOf(scales));
      if (total > Tuned().signed_rows_min && dimensions >= kSignedDimensionsMin)
        WriteSigns(file, IdOf(number, VectorPart::kSigns), rows, dimensions);
    }
    ++number;
  }
  file.AddSection(kVectorDirectory, directory);
  return Status::Ok();
}

}  // namespace gannet::segment
