// The vectors part of a segment: for each embedder, the embeddings of the segment's documents.
//
// A row is one embedding. Rows are in ascending order of docids; those of one document follow each
// other. A row is stored in single precision as it was received (this is what is read back and
// decides the order of hits) and once more as bytes with a scale and an error bound (this is what
// is scanned; vector/quantise.h). For a binary quantised embedder, only one bit per component is
// stored. If there are many rows, the signs of rotated rows are stored as well: they are scanned
// before the bytes (vector/signs.h).
//
// A document has an entry for an embedder if it has rows or was opted out. Entries have flags, and
// rows may record the text and fragment that they were made from.
//
// Memory: a writer moves rows to a temporary file once there are many; a reader maps them.
// Threads: a reader is immutable and shared; a writer has one owner.
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
#include "bitmap/docset.h"
#include "segment/local_docids.h"
#include "segment/file.h"
#include "segment/spool.h"
#include "vector/quantise.h"

namespace gannet::segment {

struct EmbedderShape {
  std::string name;
  uint32_t dimensions = 0;
  bool binary_quantised = false;
};

// Flags of a document's entry; bits.
enum VectorFlags : uint8_t {
  kRegenerate = 1,    // its embeddings are made again when its text changes
  kUserProvided = 2,  // its embeddings came with the document
};

// The bytes of a text that an embedding was made from; a length of 0: it stands for the document.
struct RowSpan {
  uint32_t start = 0, length = 0;
  bool operator==(const RowSpan&) const = default;
};

// Where an embedding comes from.
struct RowSource {
  uint64_t text_hash = 0;  // of the rendered text; 0: unknown
  uint8_t fragment = 0;    // number of the indexing fragment, or of the passage
  RowSpan span = {};       // of the attribute that the embedder cuts into passages
  bool operator==(const RowSource&) const = default;
};

// The embeddings for one embedder. Borrows the mapped file; damaged bytes read as empty and mark
// the file corrupt.
class EmbedderReader {
 public:
  const std::string& name() const { return shape_.name; }
  uint32_t dimensions() const { return shape_.dimensions; }
  bool binary_quantised() const { return shape_.binary_quantised; }
  const EmbedderShape& shape() const { return shape_; }

  uint32_t row_count() const { return static_cast<uint32_t>(row_docids_.size()); }
  // By row; ascending.
  std::span<const DocId> row_docids() const { return row_docids_; }

  // Documents with an entry, by local docid of this embedder.
  std::span<const DocId> docids() const { return local_docids_.docids(); }
  const LocalDocIds& local_docids() const { return local_docids_; }
  // Rows [begin, end) of the document at a local docid.
  struct Rows {
    uint32_t begin, end;
    bool empty() const { return begin == end; }
  };
  Rows rows_of(size_t local) const { return {first_rows_[local], first_rows_[local + 1]}; }
  // Rows of the document with a docid; none if it has no entry.
  Rows FindRows(DocId docid) const {
    const int64_t local = local_docids_.Find(docid);
    return local < 0 ? Rows{0, 0} : rows_of(static_cast<size_t>(local));
  }
  uint8_t flags(size_t local) const { return flags_[local]; }
  RowSource source(uint32_t row) const;

  // Documents with a row, and documents with an entry that has the flag. Made by the first call.
  const DocSet& embedded() const { return Sets().embedded; }
  const DocSet& user_provided() const { return Sets().user_provided; }
  const DocSet& regenerated() const { return Sets().regenerated; }

  // dimensions() single-precision numbers. Empty for a binary quantised embedder, and when damaged.
  std::span<const float> Row(uint32_t row) const {
    return AsFloats(file_->Read(rows_, uint64_t{row} * dimensions() * sizeof(float),
                                uint64_t{dimensions()} * sizeof(float)));
  }
  // The same for any embedder: the numbers as they are read back. False: damaged.
  bool ReadRow(uint32_t row, std::vector<float>& out) const;

  // The bytes of rows [begin, end), dimensions() each, and their scales. Null when damaged, or
  // binary quantised.
  struct ByteRows {
    const int8_t* bytes = nullptr;
    const vector::ByteScale* scales = nullptr;
  };
  ByteRows Bytes(uint32_t begin, uint32_t end) const;
  // The bits of rows [begin, end), BitWords(dimensions()) words each. Null when damaged, or not
  // binary quantised.
  const uint64_t* Bits(uint32_t begin, uint32_t end) const;

  // Whether signs of the rows are stored.
  bool has_signs() const { return signs_ != nullptr; }
  // Blocks [begin, end) of signs. Null when damaged. REQUIRES: has_signs()
  const uint8_t* Signs(size_t begin, size_t end) const;

  // Has the system read rows that have not been read yet, for scanning, without waiting for them.
  void WillNeed(uint32_t begin, uint32_t end) const;

 private:
  friend class VectorsReader;
  struct DocSets {
    std::once_flag once;
    DocSet embedded, user_provided, regenerated;
  };
  const DocSets& Sets() const;
  static std::span<const float> AsFloats(std::string_view bytes) {
    return {reinterpret_cast<const float*>(bytes.data()), bytes.size() / sizeof(float)};
  }

  std::shared_ptr<SegmentFile> file_;
  EmbedderShape shape_;
  std::span<const DocId> row_docids_;
  LocalDocIds local_docids_;
  std::span<const uint32_t> first_rows_;
  std::span<const uint8_t> flags_;
  std::span<const uint64_t> text_hashes_;  // empty: no row has one
  std::span<const uint8_t> fragments_;     // empty: all are 0
  std::span<const RowSpan> spans_;         // empty: all are empty
  const SegmentFile::Section* rows_ = nullptr;
  const SegmentFile::Section* bytes_ = nullptr;
  const SegmentFile::Section* scales_ = nullptr;
  const SegmentFile::Section* bits_ = nullptr;
  const SegmentFile::Section* signs_ = nullptr;
  std::unique_ptr<DocSets> sets_ = std::make_unique<DocSets>();
};

class VectorsReader {
 public:
  // A file without vectors has no embedders. Corruption: sizes do not fit.
  static Result<std::shared_ptr<const VectorsReader>> Open(std::shared_ptr<SegmentFile> file);

  const std::vector<EmbedderReader>& embedders() const { return embedders_; }
  // Null if the segment has no entry for it.
  const EmbedderReader* Find(std::string_view embedder) const;
  const std::shared_ptr<SegmentFile>& file() const { return file_; }

 private:
  std::shared_ptr<SegmentFile> file_;
  std::vector<EmbedderReader> embedders_;
};

// Appends the embeddings of the entry at a local docid as a JSON array of arrays. Numbers are
// written in their shortest form that reads back to the same single. Corruption: a row is damaged.
Status AppendEmbeddings(const EmbedderReader& reader, size_t local, std::string& out);

class VectorsWriter {
 public:
  // folder: for temporary files. Dimensions of 0 become those of the first row.
  VectorsWriter(std::string folder, std::vector<EmbedderShape> embedders);
  ~VectorsWriter();

  const EmbedderShape& shape(size_t embedder) const;
  size_t embedder_count() const { return embedders_.size(); }

  // Begins the entry of a document. docids ascend for each embedder, which is given by its index.
  // The rows of the entry follow.
  void BeginDocument(size_t embedder, DocId docid, uint8_t flags);
  // row: as many numbers as the embedder has dimensions.
  void AddRow(size_t embedder, std::span<const float> row, RowSource source = {});
  // Copies the entry at a local docid of another file. If it has rows, the dimensions must be
  // equal. Corruption: the entry is damaged.
  Status CopyDocument(size_t embedder, const EmbedderReader& from, size_t local, uint8_t flags);

  // Whether nothing has been added.
  bool empty() const;
  uint64_t memory_bytes() const;
  // Bytes of the rows added.
  uint64_t bytes() const;
  // Writes the sections, or none if nothing was added. Io, Full: a temporary file could not be
  // written.
  Status Write(SegmentFileWriter& file);

 private:
  struct Embedder;
  std::vector<std::unique_ptr<Embedder>> embedders_;
};

}  // namespace gannet::segment
