// Collects the words of documents in memory and writes them as one segment file.
//
// Steps of Finish: 1. rows were streamed to the file while documents came in; 2. columns are
// written, which gives back what they were collected in; 3. the words are sorted, which gives their
// ordinals; 4. postings are built from the collected words, a slice of the dictionary at a time so
// that memory stays bounded; 5. the forward index is written document by document; 6. vectors,
// which lay in a temporary file, are quantised and written.
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
  // What short words are made of stands beside the number: looking them up touches one cache line.
  struct Slot {
    uint64_t first = 0;  // bytes of the word
    uint32_t hash = 0;
    uint32_t word = 0;  // number + 1, 0 when free
  };
  void Grow();
  std::string bytes_;
  std::vector<uint32_t> begins_;
  std::vector<Slot> slots_;  // a power of two of them
};

class SegmentBuilder {
 public:
  // embedders: those that vectors may be added for.
  static Result<std::unique_ptr<SegmentBuilder>> Create(const std::string& path,
                                                        std::vector<EmbedderShape> embedders = {});

  // docids ascending over the calls. `row`: compressed.
  void BeginDocument(DocId docid, std::string_view row);
  // word: at most kWordBytesMax bytes, not empty. positions of one field ascending.
  void AddWord(FieldId field, std::string_view word, uint32_t position) {
    document_.push_back({field, position, words_.Intern(word)});
  }
  ColumnBuilder& columns() { return columns_; }
  VectorsWriter& vectors() { return vectors_; }
  void EndDocument();

  uint32_t document_count() const { return document_count_; }
  uint64_t memory_bytes() const;
  Status Finish();

 private:
  SegmentBuilder(std::unique_ptr<SegmentFileWriter> file, std::vector<EmbedderShape> embedders);
  // Packed, fields: as SlicedPostings has them. Returns the frequent words.
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
  std::vector<bool> has_field_;  // by field: whether some document has words there
  // Per document, side by side: docid, number of fields; per field: id, number of words, number of
  // breaks, the breaks (word index, position), the words.
  Chunks<uint32_t> stream_;
  std::vector<uint32_t> record_;  // of the document at hand, on its way there
  uint32_t document_count_ = 0;
};

}  // namespace gannet::segment
