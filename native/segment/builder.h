// Collects the words of documents in memory and writes them as one segment file.
//
// Steps of Finish:
// 1. Rows were streamed to the file while documents were added.
// 2. Columns are written, which frees the memory that they were collected in.
// 3. The words are sorted, which gives their ordinals.
// 4. Postings are built from the collected words, one slice of the dictionary at a time so that
//    memory stays bounded.
// 5. The forward index is written document by document.
// 6. Vectors are read from their temporary file, quantised and written.
//
// Threads: one owner. Memory: memory_bytes(), about 5 bytes per word occurrence plus the
// dictionary; the caller finishes the segment when its budget is used up.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/chunks.h"
#include "base/ids.h"
#include "base/status.h"
#include "segment/columns.h"
#include "segment/file.h"
#include "segment/rows.h"
#include "segment/text.h"
#include "segment/vectors.h"

namespace gannet::segment {

// Words seen so far and their local numbers, in order of first appearance.
class WordTable {
 public:
  WordTable();
  uint32_t Intern(std::string_view word);
  uint32_t size() const { return static_cast<uint32_t>(begins_.size()); }
  std::string_view word(uint32_t number) const;
  uint64_t memory_bytes() const;

 private:
  // The first bytes of a word are stored next to its number, so looking up a short word touches one
  // cache line.
  struct Slot {
    uint64_t first = 0;  // bytes of the word
    uint32_t hash = 0;
    uint32_t word = 0;  // number + 1, 0 when free
  };
  void Grow();
  std::string bytes_;
  std::vector<uint32_t> begins_;
  std::vector<Slot> slots_;  // their number is a power of two
};

class SegmentBuilder {
 public:
  // embedders: those for which vectors may be added. parts: see PostingsWriter.
  static Result<std::unique_ptr<SegmentBuilder>> Create(const std::string& path,
                                                        std::vector<EmbedderShape> embedders = {},
                                                        FieldSet parts = {});

  // docids ascend over the calls. `row`: compressed.
  void BeginDocument(DocId docid, std::string_view row);
  // word: 1 to kWordBytesMax bytes. The positions of one field ascend.
  void AddWord(FieldId field, std::string_view word, uint32_t position) {
    document_.push_back({field, position, words_.Intern(word)});
  }
  ColumnBuilder& columns() { return columns_; }
  VectorsWriter& vectors() { return vectors_; }
  void EndDocument();

  uint32_t document_count() const { return document_count_; }
  uint64_t memory_bytes() const;
  // What the documents so far take in the file besides what memory_bytes() becomes: rows, and
  // embeddings once in single precision and once more as bytes.
  uint64_t stored_bytes() const { return rows_.bytes() + vectors_.bytes() / 4 * 5; }
  Status Finish();

 private:
  SegmentBuilder(std::unique_ptr<SegmentFileWriter> file, std::vector<EmbedderShape> embedders,
                 FieldSet parts);
  // Packed, fields: see SlicedPostings. Returns the frequent words.
  template <typename Packed>
  Result<std::vector<Ordinal>> WritePostings(const std::vector<Ordinal>& ordinal_of,
                                             const std::vector<uint32_t>& by_ordinal,
                                             const std::vector<FieldId>& fields);
  Status WriteForward(const std::vector<Ordinal>& ordinal_of, std::vector<Ordinal> frequent);

  std::unique_ptr<SegmentFileWriter> file_;
  RowsWriter rows_;
  ColumnBuilder columns_;
  VectorsWriter vectors_;
  WordTable words_;
  std::vector<WordOccurrence> document_;
  FieldSet parts_;
  std::vector<bool> has_field_;  // by field: whether any document has words in it
  // For each document: docid, number of fields; per field: id, number of words, number of breaks,
  // the breaks (word index, position), the words.
  Chunks<uint32_t> stream_;
  std::vector<uint32_t> record_;  // the current document, before it is appended to stream_
  uint32_t document_count_ = 0;
};

}  // namespace gannet::segment
